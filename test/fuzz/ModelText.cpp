// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelText.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

namespace ditron::fuzz {

namespace {

constexpr size_t kMostData = 1 << 16;

struct Line {
  explicit Line(const std::string &text) : words(text) { words >> kind; }
  std::string word() {
    std::string text;
    words >> text;
    return text;
  }
  uint64_t number() { return std::strtoull(word().c_str(), nullptr, 0); }
  std::vector<std::string> rest() {
    std::vector<std::string> all;
    for (std::string one; words >> one;)
      all.push_back(one);
    return all;
  }
  std::istringstream words;
  std::string kind;
};

template <class T> std::string bytesOf(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}
std::string counted(const std::string &text) { return bytesOf<uint64_t>(text.size()) + text; }

/// What lines of all files do; false where a line is none of them.
bool change(std::string &bytes, Line &line) {
  if (line.kind == "data")
    for (uint64_t n = 0, count = std::min<uint64_t>(line.number(), kMostData); n < count; ++n)
      bytes.push_back(char(n * 37));
  else if (line.kind == "byte" && !bytes.empty())
    bytes[line.number() % bytes.size()] = char(line.number());
  else if (line.kind == "cut")
    bytes.resize(std::min<size_t>(bytes.size(), line.number()));
  else
    return false;
  return true;
}

//===-- GGUF ----------------------------------------------------------------------------------===//

uint32_t numberOf(const std::string &type, const std::map<std::string, uint32_t> &names) {
  auto found = names.find(type);
  return found == names.end() ? uint32_t(std::strtoul(type.c_str(), nullptr, 0)) : found->second;
}

uint32_t typeOfValue(const std::string &type) {
  static const std::map<std::string, uint32_t> names = {
      {"u8", 0},   {"i8", 1},     {"u16", 2},  {"i16", 3},  {"u32", 4},  {"i32", 5}, {"f32", 6},
      {"bool", 7}, {"string", 8}, {"list", 9}, {"u64", 10}, {"i64", 11}, {"f64", 12}};
  return numberOf(type, names);
}

uint32_t typeOfTensor(const std::string &type) {
  static const std::map<std::string, uint32_t> names = {
      {"F32", 0},  {"F16", 1},  {"Q4_0", 2},  {"Q4_1", 3},  {"Q5_0", 6},
      {"Q5_1", 7}, {"Q8_0", 8}, {"Q4_K", 12}, {"Q6_K", 14}, {"BF16", 30}};
  return numberOf(type, names);
}

std::string valueOf(uint32_t type, std::string text) {
  constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  constexpr uint32_t kReal32 = 6, kText = 8, kReal64 = 12;
  std::ranges::replace(text, '~', ' ');
  if (type == kReal32)
    return bytesOf(std::strtof(text.c_str(), nullptr));
  if (type == kReal64)
    return bytesOf(std::strtod(text.c_str(), nullptr));
  if (type == kText || type >= std::size(kBytes))
    return counted(text);
  return bytesOf(std::strtoull(text.c_str(), nullptr, 0)).substr(0, kBytes[type]);
}

struct GgufText {
  std::string metadata, tensors, behind;
  uint64_t keys = 0, tensorCount = 0;
  std::optional<uint64_t> saidKeys, saidTensors;

  void add(Line &line) {
    if (line.kind == "key") {
      std::string name = line.word();
      uint32_t type = typeOfValue(line.word());
      metadata += counted(name) + bytesOf(type) + valueOf(type, line.word());
      ++keys;
    } else if (line.kind == "list") {
      addList(line);
    } else if (line.kind == "tensor") {
      addTensor(line);
    } else if (line.kind == "keys") {
      saidKeys = line.number();
    } else if (line.kind == "tensors") {
      saidTensors = line.number();
    }
  }

  void addList(Line &line) {
    std::string name = line.word();
    uint32_t type = typeOfValue(line.word());
    std::vector<std::string> values = line.rest();
    metadata += counted(name) + bytesOf(typeOfValue("list")) + bytesOf(type) +
                bytesOf<uint64_t>(values.size());
    for (const std::string &value : values)
      metadata += valueOf(type, value);
    ++keys;
  }

  void addTensor(Line &line) {
    std::string name = line.word();
    uint32_t type = typeOfTensor(line.word());
    uint64_t offset = line.number();
    std::vector<std::string> sizes = line.rest();
    tensors += counted(name) + bytesOf(uint32_t(sizes.size()));
    for (const std::string &size : sizes)
      tensors += bytesOf(std::strtoull(size.c_str(), nullptr, 0));
    tensors += bytesOf(type) + bytesOf(offset);
    ++tensorCount;
  }

  std::string bytes(uint32_t version) const {
    std::string all = "GGUF" + bytesOf(version) + bytesOf(saidTensors.value_or(tensorCount)) +
                      bytesOf(saidKeys.value_or(keys)) + metadata + tensors;
    all.resize((all.size() + 31) / 32 * 32); // the tensors' bytes begin at a multiple
    return all;
  }
};

std::string ggufOf(std::istringstream &lines, uint32_t version) {
  GgufText parts;
  std::vector<std::string> changes;
  for (std::string text; std::getline(lines, text);) {
    Line line(text);
    parts.add(line);
    changes.push_back(text);
  }
  std::string bytes = parts.bytes(version);
  for (const std::string &text : changes) {
    Line line(text);
    change(bytes, line);
  }
  return bytes;
}

//===-- Files of a folder ---------------------------------------------------------------------===//

/// One file of a folder, by the lines of its section.
std::string fileOf(const std::string &name, const std::vector<std::string> &lines) {
  bool isSafetensors = name.ends_with(".safetensors");
  std::string text, bytes;
  std::optional<uint64_t> length;
  for (const std::string &content : lines) {
    Line line(content);
    if (line.kind == "length")
      length = line.number();
    else if (line.kind != "data" && line.kind != "byte" && line.kind != "cut")
      text += content + "\n";
  }
  bytes = isSafetensors ? bytesOf(length.value_or(text.size())) + text : text;
  for (const std::string &content : lines) {
    Line line(content);
    change(bytes, line);
  }
  return bytes;
}

/// A name of a file, and no other folder's.
std::string nameOf(Line &line) {
  std::string name = line.word();
  std::erase(name, '/');
  return name.empty() || name[0] == '.' ? "config.json" : name.substr(0, 100);
}

void writeFolder(const std::filesystem::path &folder, std::istringstream &lines) {
  std::map<std::string, std::vector<std::string>> files;
  std::string name = "config.json";
  for (std::string text; std::getline(lines, text);)
    if (Line line(text); line.kind == "file")
      files[name = nameOf(line)];
    else
      files[name].push_back(text);
  for (const auto &[file, content] : files)
    std::ofstream(folder / file, std::ios::binary) << fileOf(file, content);
}

} // namespace

std::filesystem::path writeModel(const std::filesystem::path &folder, const std::string &text) {
  std::istringstream lines(text);
  std::string first;
  std::getline(lines, first);
  Line line(first);
  if (line.kind == "hub")
    return writeFolder(folder, lines), folder;
  std::filesystem::path file = folder / "model.gguf";
  std::ofstream(file, std::ios::binary)
      << (line.kind == "gguf" ? ggufOf(lines, uint32_t(line.number())) : text);
  return file;
}

} // namespace ditron::fuzz
