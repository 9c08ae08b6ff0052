// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bugs that people meet in the field, as small kernels: corpus/NN-name.mlir and corpus/NN-name.cpp.
// A line of a broken form says `// EXPECT: kind`: every finding in that form is of this kind, and
// one names all these lines. Forms without such lines are clean.
#include "corpus/Kernels.h"
#include "ditron/checker/Check.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace ditron {
namespace {

/// What the lines of one form say.
struct Expected {
  std::string kind; ///< empty: clean
  std::set<int64_t> lines;
  int64_t nodes = 1; ///< from an attribute of the function
};

/// The forms of a file by name. In C++ a form begins at its signature; where broken and fixed are
/// one function, the lines belong to the broken one.
std::map<std::string, Expected> expectations(const std::filesystem::path &file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << file;
  const std::regex form(R"re(func\.func @(\w+)|Kernel\("(\w+)\(|Kernel (kernelOf)\()re");
  const std::regex expect(R"(// EXPECT: ([\w-]+))"), nodes(R"(nodes = (\d+))");
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
    if (std::regex_search(line, match, nodes))
      forms[current].nodes = std::stoll(match[1]);
    if (std::regex_search(line, match, expect)) {
      forms[current].kind = match[1];
      forms[current].lines.insert(number);
    }
  }
  return forms;
}

/// `follow` replays a schedule.
template <class Follow>
void compare(const Verdict &verdict, const Expected &expected, const Follow &follow) {
  EXPECT_NE(verdict.method, Method::sampled) << verdict.text();
  bool isSeen = false;
  for (const Finding &finding : verdict.findings) {
    EXPECT_EQ(name(finding.kind), expected.kind) << verdict.text();
    std::set<int64_t> lines;
    for (const Party &party : finding.parties)
      lines.insert(party.line);
    isSeen |=
        std::includes(lines.begin(), lines.end(), expected.lines.begin(), expected.lines.end());
    EXPECT_FALSE(follow(finding.schedule).empty()) << verdict.text();
  }
  EXPECT_EQ(isSeen, !expected.kind.empty()) << verdict.text();
  EXPECT_EQ(verdict.kernel.starts_with("broken"), !expected.kind.empty());
}

//===-- Textual IR ----------------------------------------------------------------------------===//

class InTheIR : public testing::TestWithParam<std::string> {};

TEST_P(InTheIR, BrokenIsFoundFixedIsClean) {
  std::filesystem::path file = std::filesystem::path(DITRON_CORPUS) / (GetParam() + ".mlir");
  std::ifstream stream(file);
  TextualIR ir{std::string((std::istreambuf_iterator<char>(stream)), {}), file.string()};
  std::map<std::string, Expected> forms = expectations(file);
  std::vector<std::string> kernels = kernelsOf(ir);
  EXPECT_EQ(kernels.size(), forms.size());
  EXPECT_GE(kernels.size(), 2u);
  for (int64_t launches : {1, 2})
    for (const std::string &kernel : kernels) {
      ir.kernel = kernel;
      CheckOptions options{.cores = 1, .nodes = forms[kernel].nodes, .launches = launches};
      compare(check(ir, options), forms[kernel],
              [&](const std::string &schedule) { return replay(ir, options, schedule); });
    }
}

INSTANTIATE_TEST_SUITE_P(Corpus, InTheIR,
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

class InTheLanguage : public testing::TestWithParam<Language> {};

TEST_P(InTheLanguage, BrokenIsFoundFixedIsClean) {
  std::map<std::string, Expected> forms =
      expectations(std::filesystem::path(DITRON_CORPUS) / GetParam().file);
  for (const corpus::Case &one : GetParam().cases()) {
    CheckOptions options{.cores = one.cores, .shape = one.shape};
    Verdict verdict = check(one.kernel, options);
    EXPECT_EQ(verdict.method, Method::proved) << verdict.text();
    compare(verdict, forms[one.kernel.name()],
            [&](const std::string &schedule) { return replay(one.kernel, options, schedule); });
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
} // namespace ditron
