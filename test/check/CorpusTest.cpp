// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bugs that people meet in the field, as small kernels: corpus/NN-name.mlir and corpus/NN-name.cpp.
// A line of a broken form says `// EXPECT: kind`: every finding in that form is of this kind, and
// one names all these lines. Forms without such lines are clean.
#include "corpus/Kernels.h"
#include "ditron/lang/Trace.h"
#include "test/unit/check/Explored.h"
#include <filesystem>
#include <fstream>
#include <regex>

namespace ditron::explorer {
namespace {

/// What the lines of one form say.
struct Expected {
  std::string kind; ///< empty: clean
  std::set<int64_t> lines;
};

/// The forms of a file by name. In C++ a form begins at its signature; where broken and fixed are
/// one function, the lines belong to the broken one.
std::map<std::string, Expected> expectations(const std::filesystem::path &file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << file;
  const std::regex form(R"re(func\.func @(\w+)|Kernel\("(\w+)\(|Kernel (kernelOf)\()re");
  const std::regex expect(R"(// EXPECT: ([\w-]+))");
  std::map<std::string, Expected> forms;
  std::string current;
  std::smatch match;
  int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (std::regex_search(line, match, form)) {
      current = match[1].matched ? match[1].str() : match[2].matched ? match[2].str() : "broken";
      forms[current];
    }
    if (std::regex_search(line, match, expect)) {
      forms[current].kind = match[1];
      forms[current].lines.insert(number);
    }
  }
  return forms;
}

void compare(const std::string &form, const Exploration &found, const Expected &expected) {
  EXPECT_EQ(found.method, Method::exhaustive) << form;
  bool isSeen = false;
  for (const Finding &finding : found.findings) {
    EXPECT_EQ(name(finding.kind), expected.kind) << form << ": " << toString(found);
    std::set<int64_t> lines;
    for (const Party &party : finding.parties)
      lines.insert(party.line);
    isSeen |=
        std::includes(lines.begin(), lines.end(), expected.lines.begin(), expected.lines.end());
    EXPECT_FALSE(finding.message.empty());
  }
  EXPECT_EQ(isSeen, !expected.kind.empty()) << form << ": " << toString(found);
}

class TextualIR : public testing::TestWithParam<std::string> {};

TEST_P(TextualIR, BrokenIsFoundFixedIsClean) {
  std::filesystem::path file = std::filesystem::path(DITRON_CORPUS) / (GetParam() + ".mlir");
  std::ifstream stream(file);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  Source source(text, file.filename().string());
  std::map<std::string, Expected> forms = expectations(file);
  EXPECT_GE(forms.size(), 2u);
  for (const auto &[form, expected] : forms) {
    EXPECT_EQ(form.starts_with("broken"), !expected.kind.empty()) << form;
    compare(form, source.explore(form), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, TextualIR,
                         testing::Values("02-flag-not-after-put", "03-device-scope",
                                         "04-spin-without-acquire", "05-exact-barrier",
                                         "06-unordered-reset", "07-reset-by-consumer",
                                         "09-generation-returns"),
                         [](const auto &info) {
                           return std::regex_replace(info.param, std::regex("-"), "_");
                         });

//===-- Kernels in C++ ------------------------------------------------------------------------===//

struct Language {
  const char *file;
  std::vector<corpus::Case> (*cases)();
};

/// Explores a kernel of two ranks, launched twice.
Exploration explore(const corpus::Case &one) {
  auto kernel = *one.kernel.traced().module.get().getOps<mlir::func::FuncOp>().begin();
  reference::Options options;
  options.ranks = 2;
  options.cores = one.cores;
  options.launches = 2;
  std::vector<std::vector<float>> buffers;
  std::vector<std::vector<reference::ArgumentValue>> arguments(2);
  for (auto &values : arguments)
    for (const std::vector<int64_t> &extents : one.extents) {
      reference::Extents strides = reference::denseStrides(extents);
      buffers.emplace_back(reference::numElements(extents));
      values.push_back(reference::ArgumentMemory{
          buffers.back().data(), DType::f32, extents, {strides.begin(), strides.end()}});
    }
  return explorer::explore(kernel, arguments, options, {});
}

class InTheLanguage : public testing::TestWithParam<Language> {};

TEST_P(InTheLanguage, BrokenIsFoundFixedIsClean) {
  std::map<std::string, Expected> forms =
      expectations(std::filesystem::path(DITRON_CORPUS) / GetParam().file);
  for (const corpus::Case &one : GetParam().cases()) {
    const Expected &expected = forms[one.kernel.name()];
    EXPECT_EQ(one.kernel.name().starts_with("broken"), !expected.kind.empty());
    compare(one.kernel.name(), explore(one), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, InTheLanguage,
    testing::Values(Language{"01-one-counter.cpp", corpus::oneCounter},
                    Language{"08-only-one-core-puts.cpp", corpus::onlyOneCorePuts},
                    Language{"10-wait-of-another.cpp", corpus::waitOfAnother},
                    Language{"11-stage-reloaded.cpp", corpus::stageReloaded},
                    Language{"12-early-leaver.cpp", corpus::earlyLeaver}),
    [](const auto &info) { return "_" + std::string(info.param.file).substr(0, 2); });

} // namespace
} // namespace ditron::explorer
