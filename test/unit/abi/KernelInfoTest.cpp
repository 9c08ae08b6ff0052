// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of kernels: what is written is read, and a damaged text is an error that names what
// is wrong with it.
#include "ditron/abi/KernelInfo.h"
#include "ditron/support/Error.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace ditron;
using namespace ditron::abi;
using nlohmann::json;

namespace {

/// A description in which every field differs from its default.
KernelInfo example() {
  KernelInfo info;
  info.name = "gather\n\"\xc3\xa4\"";
  info.target = "sm_90a";
  info.entry = "other_entry";
  info.arguments = {{"A", ArgumentKind::view, DType::bf16, 2},
                    {"n", ArgumentKind::index, DType::i64, 0},
                    {"s", ArgumentKind::scalar, DType::f32, 0}};
  info.symmetric = {
      {"full", SymmetricKind::buffer, 2, {Extent("n", {}), Extent("a0.1", info.arguments)}},
      {"ready", SymmetricKind::signals, 8, {Extent("a1", info.arguments)}}};
  info.symmetric[1].isFixed = true;
  info.copyEngines = true;
  std::vector<Argument> all = info.arguments;
  all.push_back({"full", ArgumentKind::view, DType::i64, 2});
  info.copyProgram = {
      {CopyKind::loop, {}, {Extent("1", {}), Extent("n", {}), Extent("1", {})}, 1, 0, ""},
      {CopyKind::put, {0, 3}, {Extent("v0", {}), Extent("r", {}), Extent("a3.1", all)}, 0, 0, ""},
      {CopyKind::require, {}, {Extent("a3.s0 r lt", all)}, 0, 0, "a message"}};
  info.leastCores = 4;
  info.isDistributed = true;
  info.barriers = 2;
  info.sites = {{"gather/inner", "Gather.cpp", 31, "waits for"}};
  info.requirements = {{"expected {} rows", "Gather.cpp", 12}};
  info.threads = 384;
  info.sharedBytes = 65536;
  info.scratchBytes = 4096;
  info.cluster = 2;
  info.leastCores = 4;
  info.dependentLaunch = true;
  info.tiles = {Extent("a0.0 128 ceildiv", info.arguments)};
  info.exactCores = {Extent("a0.0 1 sub", info.arguments)};
  info.viewTable = {0, 0};
  info.tabled = {0};
  info.tensorMaps = {{0, {64, 128}, true, 0}, {3, {1, 64, 64}, false}};
  info.readSingly = {1};
  info.readAhead = {1};
  info.team = {2, 3};
  return info;
}

/// What any member of a structure can be initialised with.
struct Anything {
  template <class T> operator T() const;
};

/// How many members a structure has.
template <class T, class... Members> constexpr size_t membersOf() {
  if constexpr (requires { T{Members{}..., Anything{}}; })
    return membersOf<T, Members..., Anything>();
  else
    return sizeof...(Members);
}

template <class T> size_t fieldsOf() {
  T value;
  size_t count = 0;
  T::fields(value, [&](const char *, auto &) { ++count; });
  return count;
}

std::string problemOf(const std::string &text) {
  try {
    fromText(text);
  } catch (const RuntimeError &error) {
    return error.what();
  }
  return "no error";
}

std::string problemOf(const json &text) { return problemOf(text.dump()); }

/// Every field at any depth, as the pointers that the JSON library has.
void addFields(const json &value, const json::json_pointer &at,
               std::vector<json::json_pointer> &fields) {
  if (!value.is_structured())
    return;
  for (const auto &[key, child] : value.items()) {
    json::json_pointer place = value.is_array() ? at / size_t(std::stoul(key)) : at / key;
    if (value.is_object())
      fields.push_back(place);
    addFields(child, place, fields);
  }
}

TEST(KernelInfo, IsReadAsItWasWritten) {
  KernelInfo info = example();
  std::string text = toText(info);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(fromText(text), info);
  EXPECT_EQ(toText(fromText(text)), text);
  EXPECT_EQ(fromText(toText(KernelInfo())), KernelInfo());
  // Nothing is left at its default: a field that is not written would come back as that.
  json all = json::parse(text), defaults = json::parse(toText(KernelInfo()));
  for (const auto &[name, value] : defaults.items())
    if (name != "version")
      EXPECT_NE(all[name], value) << name;
}

TEST(KernelInfo, NamesEveryMember) {
  EXPECT_EQ(fieldsOf<KernelInfo>(), membersOf<KernelInfo>());
  EXPECT_EQ(fieldsOf<Argument>(), membersOf<Argument>());
  EXPECT_EQ(fieldsOf<Symmetric>(), membersOf<Symmetric>());
  EXPECT_EQ(fieldsOf<TensorMap>(), membersOf<TensorMap>());
  EXPECT_EQ(fieldsOf<Site>(), membersOf<Site>());
  EXPECT_EQ(fieldsOf<Requirement>(), membersOf<Requirement>());
  EXPECT_EQ(fieldsOf<CopyStep>(), membersOf<CopyStep>());
}

TEST(KernelInfo, PacksWithItsCode) {
  std::string code("\n\0\x7f"
                   "ELF\n\n",
                   8);
  CompiledKernel back = unpack(pack({example(), code}));
  EXPECT_EQ(back.info, example());
  EXPECT_EQ(back.code, code);
  EXPECT_EQ(unpack(pack({example(), ""})).code, "");
  EXPECT_THROW(unpack(""), RuntimeError);
  EXPECT_THROW(unpack("\x7f"
                      "ELF"),
               RuntimeError);
}

TEST(KernelInfo, MissesNoField) {
  json whole = json::parse(toText(example()));
  std::vector<json::json_pointer> fields;
  addFields(whole, json::json_pointer(), fields);
  EXPECT_GT(fields.size(), 30U);
  for (const json::json_pointer &field : fields) {
    json damaged = whole;
    damaged[field.parent_pointer()].erase(field.back());
    std::string problem = problemOf(damaged);
    EXPECT_NE(problem.find(field.back()), std::string::npos) << field << ": " << problem;
    EXPECT_NE(problem.find("is missing"), std::string::npos) << field << ": " << problem;
  }
}

TEST(KernelInfo, RefusesOtherTypes) {
  json whole = json::parse(toText(example()));
  std::vector<json::json_pointer> fields;
  addFields(whole, json::json_pointer(), fields);
  for (const json::json_pointer &field : fields)
    for (const json &other : {json("?"), json(1.5), json(nullptr), json::array({json::array()}),
                              json::object(), json(true), json(7)}) {
      json damaged = whole;
      bool isText = damaged[field].is_string(), isNumber = damaged[field].is_number();
      bool isTruth = damaged[field].is_boolean();
      if ((isText && other.is_string()) || (isNumber && other.is_number_integer()) ||
          (isTruth && other.is_boolean()))
        continue;
      damaged[field] = other;
      std::string problem = problemOf(damaged);
      EXPECT_NE(problem.find(field.back()), std::string::npos) << field << ": " << problem;
    }
}

TEST(KernelInfo, NamesWhatIsWrong) {
  auto changed = [](const char *field, const json &value) {
    json damaged = json::parse(toText(example()));
    damaged[json::json_pointer(field)] = value;
    return problemOf(damaged);
  };
  const std::string of = "description of a kernel: ";
  EXPECT_EQ(changed("/version", 2), of + "version is 2, expected 1");
  EXPECT_EQ(changed("/version", "1"), of + "version is missing");
  EXPECT_EQ(changed("/threads", "many"), of + "threads is string, expected an integer");
  EXPECT_EQ(changed("/future", 1), of + "future is not a known field");
  EXPECT_EQ(changed("/symmetric/0/future", 1), of + "symmetric[0].future is not a known field");
  EXPECT_EQ(changed("/symmetric/1/kind", "heap"),
            of + "symmetric[1].kind is the unknown word 'heap'");
  EXPECT_EQ(changed("/symmetric/0/extents/1", "a9.1"),
            of + "symmetric[0].extents[1] is wrong: extent 'a9.1' takes argument 9 of 3");
  EXPECT_EQ(changed("/tensor_maps/1/argument", 5), of + "tensor_maps has argument 5 of 5");
  EXPECT_EQ(changed("/tensor_maps/0/fitted", 2), of + "tensor_maps fits dimension 2 of a box of 2");
  EXPECT_EQ(changed("/read_singly/0", -1), of + "read_singly has argument -1 of 5");
  EXPECT_EQ(changed("/team/0", 0), of + "team is no stride and extent of 1 or more");
  EXPECT_NE(changed("/arguments/0/type", "f7").find("arguments[0].type is wrong"),
            std::string::npos);
  for (const char *text : {"", "[]", "7", "{", "{\"version\":1", "null"})
    EXPECT_EQ(problemOf(std::string(text)), of + "is no JSON object") << text;
}

/// Bytes that are lost, doubled or changed: an error, or a description, and never a crash.
TEST(KernelInfo, SurvivesDamage) {
  std::mt19937 random(11);
  std::string whole = toText(example());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(problemOf(whole.substr(0, length)), "no error") << length;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (int n = 1 + int(random() % 3); n > 0; --n) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text.erase(at, 1 + random() % 5);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), random() % 20));
        break;
      default:
        text[at] = char(random() % 256);
      }
    }
    refused += problemOf(text) != "no error";
  }
  EXPECT_GT(refused, 1500);
}

TEST(KernelInfo, WordsOfArgumentsGoIntoATableOrAreParameters) {
  KernelInfo info;
  info.arguments = {{"n", ArgumentKind::index, DType::i64, 0},
                    {"A", ArgumentKind::view, DType::f32, 1},
                    {"B", ArgumentKind::view, DType::f32, 2},
                    {"s", ArgumentKind::scalar, DType::f32, 0}};
  info.viewTable = {2, 1, 2};
  info.tabled = {1};
  std::vector<int64_t> words = {7, 10, 11, 12, 20, 21, 22, 23, 24, 9};
  EXPECT_EQ(viewTable(info, words),
            (std::vector<int64_t>{20, 21, 22, 23, 24, 10, 11, 12, 20, 21, 22, 23, 24}));
  EXPECT_EQ(parameters(info, words), (std::vector<int64_t>{7, 20, 21, 22, 23, 24, 9}));
}

TEST(KernelInfo, BoxesAreNoLongerThanWhatTheyAreFittedTo) {
  TensorMap map{0, {1, 64, 32}, false, 1};
  auto boxFor = [&](int64_t rows) { return map.boxFor(std::vector<int64_t>{3, rows, 200}); };
  EXPECT_EQ(boxFor(1), (std::vector<int64_t>{1, 8, 32}));
  EXPECT_EQ(boxFor(16), (std::vector<int64_t>{1, 16, 32}));
  EXPECT_EQ(boxFor(17), (std::vector<int64_t>{1, 24, 32}));
  EXPECT_EQ(boxFor(1000), (std::vector<int64_t>{1, 64, 32}));
  map.fitted = -1;
  EXPECT_EQ(boxFor(1), map.box);
}

} // namespace
