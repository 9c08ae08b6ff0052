// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "formats/Safetensors.h"
#include "ditron/support/Error.h"
#include "formats/Json.h"
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace generate {

/// A file, and what stands in it.
struct Part {
  const std::string &path;
  std::string_view header;
  std::span<const std::byte> data;
};

static Part readPart(const MappedFile &file) {
  std::span<const std::byte> bytes = file.bytes();
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    failJson(file.path(), "no safetensors file: it has less than 8 bytes");
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes = bytes.subspan(sizeof length);
  if (length > bytes.size())
    failJson(file.path(), fmt::format("no safetensors file: a header of {} bytes, but {} follow",
                                      length, bytes.size()));
  return {
      file.path(), {reinterpret_cast<const char *>(bytes.data()), length}, bytes.subspan(length)};
}

static Format formatOf(const Part &part, const std::string &tensor, const std::string &dtype) {
  for (Format format : {Format::f32, Format::f16, Format::bf16})
    if (traits(format).name == dtype)
      return format;
  failJson(part.path,
           fmt::format("tensor '{}' is of {}, expected F32, F16 or BF16", tensor, dtype));
}

template <class T>
static T fieldOf(const Part &part, const std::string &tensor, const Json &entry, const char *key) {
  return fieldOf<T>(fmt::format("tensor '{}'", tensor), part.path, entry, key);
}

/// The first byte of a tensor, and that behind its last.
static std::pair<uint64_t, uint64_t> readOffsets(const Part &part, const std::string &name,
                                                 const Json &entry) {
  auto offsets = fieldOf<std::vector<uint64_t>>(part, name, entry, "data_offsets");
  if (offsets.size() != 2)
    failJson(part.path, fmt::format("tensor '{}' has {} numbers in data_offsets, expected 2", name,
                                    offsets.size()));
  return {offsets[0], offsets[1]};
}

static StoredTensor readTensor(const Part &part, const std::string &name, const Json &entry) {
  StoredTensor result;
  result.name = name;
  result.format = formatOf(part, name, fieldOf<std::string>(part, name, entry, "dtype"));
  result.shape = fieldOf<std::vector<int64_t>>(part, name, entry, "shape");
  auto [first, end] = readOffsets(part, name, entry);
  std::optional<int64_t> elements = countElements(result.shape);
  if (result.shape.empty() || !elements)
    failJson(part.path, fmt::format("tensor '{}' has the shape {}", name, result.describeShape()));
  auto bytes = uint64_t(*elements * traits(result.format).bytes);
  if (first > end || end > part.data.size() || end - first != bytes)
    failJson(part.path,
             fmt::format("tensor '{}' has bytes {} to {}, expected {} of the {} in the file", name,
                         first, end, bytes, part.data.size()));
  result.bytes = part.data.subspan(first, bytes);
  return result;
}

void Safetensors::readFile(const std::string &path) {
  files_.emplace_back(path);
  Part part = readPart(files_.back());
  Json header = parseJsonOnce(path, part.header);
  if (!header.is_object())
    failJson(path, "the header is no JSON object");
  for (const auto &[name, entry] : header.items())
    if (name != "__metadata__")
      tensors_.push_back(readTensor(part, name, entry));
}

void Safetensors::readIndex(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::set<std::string> names;
  auto places = field<Json>(path, readJson(path), "weight_map");
  for (const auto &[tensor, file] : places.items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      failJson(path, fmt::format("tensor '{}' is in {}, expected a file beside this one", tensor,
                                 file.dump()));
    names.insert(file.get<std::string>());
  }
  for (const std::string &name : names)
    readFile((folder / name).string());
}

Safetensors::Safetensors(const std::string &path) {
  if (path.ends_with(".json"))
    readIndex(path);
  else
    readFile(path);
  std::set<std::string> names;
  for (const StoredTensor &tensor : tensors_)
    if (!names.insert(tensor.name).second)
      failJson(path, fmt::format("tensor '{}' is there twice", tensor.name));
}

} // namespace generate
