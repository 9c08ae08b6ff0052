// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ditron check: races and deadlocks of a kernel, found before it runs.
#include "ditron/check/Check.h"
#include "Arguments.h"
#include "Report.h"
#include "Verbs.h"
#include "ditron/support/Error.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace ditron::tools {

namespace {

using Json = nlohmann::ordered_json;

struct CheckArguments : KernelArguments {
  std::string ranks, cores, launches, schedules, seed, resident, budget, replay;
  std::vector<std::string> shapes;
  bool mutate = false, json = false;
};

} // namespace

Verb addCheck(CLI::App &program) {
  CLI::App *verb = program.add_subcommand("check", "find races and deadlocks before a kernel runs");
  auto arguments = std::make_shared<CheckArguments>();
  addKernelOptions(*verb, *arguments);
  verb->add_option("--ranks", arguments->ranks, "ranks (2)");
  verb->add_option("--shape", arguments->shapes, "sizes of one rank: M=64,N=32,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return {verb, [arguments] {
            int64_t ranks = arguments->ranks.empty() ? 2 : std::stoll(arguments->ranks);
            Task task = makeTask(*arguments, arguments->shapes.empty() ? "" : arguments->shapes[0],
                                 int(ranks), 2);
            CheckOptions options{.ranks = ranks, .shape = task.problem.dims};
            kernels::Inputs inputs(task.entry, task.kernel, task.problem, options.seed);
            options.input = [&](int64_t rank, size_t argument, int64_t element) {
              return inputs.at(rank, argument, element);
            };
            Verdict verdict = check(task.kernel, options);
            printText(verdict.text(), false);
            return verdict.clean() ? kVerified : kFailed;
          }};
}

} // namespace ditron::tools
