// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Oracle.h"
#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace ditron::oracle {
namespace {

/// A set of events; there are at most 64.
using Events = uint64_t;

struct Access {
  int rank, place;
  bool writes;
  int event, line;
};

struct Put {
  int agent, peer, event;
  bool isQuiet = false;  ///< a quiet of the agent came after
  bool isFenced = false; ///< a fence that spans agent and peer came after
};

struct Message {
  int agent;
  Scope scope;
  Events before; ///< the events that whoever takes it comes after
};

/// A prefix of an execution.
struct Execution {
  std::vector<size_t> next;   ///< of each agent
  std::vector<bool> stopped;  ///< of each agent: by an error
  std::vector<Events> order;  ///< of each agent: what its next step comes after
  std::vector<int> counters;  ///< [rank * counters + counter]
  std::vector<Events> before; ///< of each event
  std::vector<Access> accesses;
  std::vector<Put> puts;
  std::vector<std::vector<Message>> messages; ///< of each counter
};

class Enumerator {
public:
  explicit Enumerator(const Program &program) : program_(program) {}

  Outcome run() {
    Execution none;
    none.next.resize(program_.agents.size());
    none.stopped.resize(program_.agents.size());
    none.order.resize(program_.agents.size());
    none.counters.resize(program_.ranks * program_.counters);
    none.messages.resize(none.counters.size());
    extend(none);
    return outcome_;
  }

private:
  void extend(const Execution &so) {
    bool isDone = true, canGoOn = false;
    for (size_t a = 0; a < program_.agents.size(); ++a) {
      const Agent &agent = program_.agents[a];
      if (so.next[a] == agent.steps.size() || so.stopped[a])
        continue;
      isDone = false;
      const Step &step = agent.steps[so.next[a]];
      if (step.op == Op::wait && !isMet(so, agent, step))
        continue;
      canGoOn = true;
      Execution longer = so;
      execute(longer, static_cast<int>(a), step);
      extend(longer);
    }
    bool hasStopped = std::find(so.stopped.begin(), so.stopped.end(), true) != so.stopped.end();
    outcome_.deadlock |= !isDone && !canGoOn && !hasStopped;
  }

  int counterOf(int rank, const Step &step) const {
    return rank * program_.counters + step.counter;
  }

  bool isMet(const Execution &so, const Agent &agent, const Step &step) const {
    int value = so.counters[counterOf(agent.rank, step)];
    return step.exact ? value == step.value : value >= step.value;
  }

  Scope span(const Agent &one, int rank, int core) const {
    if (one.rank == rank)
      return one.core == core ? 0 : 1;
    int local = program_.ranks / program_.nodes;
    return one.rank / local == rank / local ? 2 : 3;
  }
  Scope spanToRank(const Agent &one, int rank) const { return std::max(1, span(one, rank, -1)); }

  /// A new event after those of `before`, transitively closed.
  static int addEvent(Execution &run, Events before) {
    Events all = before;
    for (size_t e = 0; e < run.before.size(); ++e)
      if (before >> e & 1)
        all |= run.before[e];
    run.before.push_back(all);
    return static_cast<int>(run.before.size()) - 1;
  }
  static Events only(int event) { return Events(1) << event; }

  void access(Execution &run, int rank, int place, bool writes, int event, int line) {
    for (const Access &other : run.accesses)
      if (other.rank == rank && other.place == place && (writes || other.writes) &&
          other.event != event && !(run.before[event] & only(other.event)))
        outcome_.races.insert(std::minmax(line, other.line));
    run.accesses.push_back({rank, place, writes, event, line});
  }

  /// An agent that would make a counter negative stops before it.
  void execute(Execution &run, int number, const Step &step) {
    const Agent &agent = program_.agents[number];
    if (step.op == Op::subtract && run.counters[counterOf(step.peer, step)] < step.value) {
      outcome_.negative = run.stopped[number] = true;
      return;
    }
    ++run.next[number];
    Events before = run.order[number];
    if (step.op == Op::quiet)
      for (Put &put : run.puts)
        if (put.agent == number) {
          put.isQuiet = true;
          before |= only(put.event);
        }
    bool releases =
        (step.op == Op::add || step.op == Op::store || step.op == Op::subtract) && !step.relaxed;
    if (releases)
      for (const Put &put : run.puts)
        if (put.agent == number && spanToRank(agent, put.peer) <= step.scope)
          before |= only(put.event);
    if (step.op == Op::wait)
      before |= receive(run, agent, step);
    int event = addEvent(run, before);
    run.order[number] = only(event);
    perform(run, number, step, event);
  }

  void perform(Execution &run, int number, const Step &step, int event) {
    const Agent &agent = program_.agents[number];
    switch (step.op) {
    case Op::read:
    case Op::write:
      access(run, agent.rank, step.place, step.op == Op::write, event, step.line);
      return;
    case Op::get:
      access(run, step.peer, step.peerPlace, false, event, step.line);
      access(run, agent.rank, step.place, true, event, step.line);
      return;
    case Op::put:
      issue(run, number, step, event);
      return;
    case Op::fence:
      for (Put &put : run.puts)
        put.isFenced |= put.agent == number && spanToRank(agent, put.peer) <= step.scope;
      return;
    case Op::wait:
      if (step.take)
        run.counters[counterOf(agent.rank, step)] -= step.value;
      return;
    case Op::quiet:
      return;
    default:
      return notify(run, number, step, event);
    }
  }

  void issue(Execution &run, int number, const Step &step, int event) {
    Events before = only(event);
    for (const Put &put : run.puts)
      if (put.agent == number && put.peer == step.peer && put.isFenced)
        before |= only(put.event);
    int performed = addEvent(run, before);
    run.puts.push_back({number, step.peer, performed});
    access(run, program_.agents[number].rank, step.place, false, performed, step.line);
    access(run, step.peer, step.peerPlace, true, performed, step.line);
    if (program_.agents[number].rank == step.peer && step.place == step.peerPlace)
      outcome_.races.insert({step.line, step.line}); // it may copy in any order
  }

  void notify(Execution &run, int number, const Step &step, int event) {
    int counter = counterOf(step.peer, step);
    int &value = run.counters[counter];
    value = step.op == Op::add        ? value + step.value
            : step.op == Op::subtract ? value - step.value
                                      : step.value;
    if (step.op == Op::store)
      run.messages[counter].clear();
    Events carried = only(event);
    if (step.relaxed) {
      carried = 0;
      for (const Put &put : run.puts)
        if (put.agent == number && (put.isQuiet || (put.isFenced && put.peer == step.peer)))
          carried |= only(put.event);
    }
    if (carried)
      run.messages[counter].push_back({number, step.scope, carried});
  }

  Events receive(const Execution &run, const Agent &waiter, const Step &step) {
    Events before = 0;
    if (step.relaxed)
      return before;
    for (const Message &message : run.messages[counterOf(waiter.rank, step)]) {
      const Agent &sender = program_.agents[message.agent];
      if (span(sender, waiter.rank, waiter.core) <= std::min(message.scope, step.scope))
        before |= message.before;
      else
        outcome_.narrow = true;
    }
    return before;
  }

  const Program &program_;
  Outcome outcome_;
};

} // namespace

Outcome enumerate(const Program &program) { return Enumerator(program).run(); }

//===-- Programs by chance --------------------------------------------------------------------===//

namespace {

class Generator {
public:
  Generator(uint64_t seed, bool forms) : random_(seed), forms_(forms) {}

  Program make() {
    constexpr int kMachines[][3] = {{2, 1, 1}, {3, 1, 1}, {1, 2, 1},
                                    {1, 3, 1}, {2, 2, 1}, {2, 1, 2}};
    const auto &machine = kMachines[below(6)];
    program_.ranks = machine[0], program_.cores = machine[1], program_.nodes = machine[2];
    program_.places = 1 + below(2);
    program_.counters = 1 + below(2);
    int agents = std::min(program_.ranks * program_.cores, 3);
    int most = agents == 2 ? 5 : 3;
    for (int a = 0; a < agents; ++a) {
      Agent agent{a / program_.cores, a % program_.cores, {}};
      int steps = 1 + below(most);
      for (int s = 0; s < steps; ++s)
        agent.steps.push_back(step(agent));
      program_.agents.push_back(std::move(agent));
    }
    return program_;
  }

private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  Step step(const Agent &agent) {
    constexpr Op kOps[] = {Op::read, Op::write, Op::put,   Op::put,   Op::get,
                           Op::add,  Op::add,   Op::add,   Op::wait,  Op::wait,
                           Op::wait, Op::quiet, Op::fence, Op::store, Op::subtract};
    Step step{kOps[below(forms_ ? 15 : 13)]};
    step.place = below(program_.places);
    step.peerPlace = below(program_.places);
    step.peer = below(program_.ranks);
    step.counter = below(program_.counters);
    step.value = step.op == Op::store ? below(3) : 1 + (chance(25) ? 1 : 0);
    bool isSignal = step.op == Op::add || step.op == Op::wait || step.op == Op::store ||
                    step.op == Op::subtract;
    if (!forms_)
      return step;
    if (step.op == Op::wait) {
      step.exact = chance(40);
      step.take = chance(25);
    }
    step.relaxed = isSignal && chance(35);
    if ((isSignal || step.op == Op::fence) && chance(30))
      step.scope = below(4);
    return step;
  }

  std::mt19937_64 random_;
  bool forms_;
  Program program_;
};

/// Lines of text, counted.
class Text {
public:
  int add(std::string line) {
    text_ += line + "\n";
    return ++lines_;
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  int lines_ = 0;
};

const char *const kScopes[] = {"core", "device", "system", "network"};

std::string forms(const Step &step) {
  return fmt::format("{}{}{}", step.take ? " take" : "", step.relaxed ? " relaxed" : "",
                     step.scope < 3 ? fmt::format(" scope {}", kScopes[step.scope]) : "");
}

std::string lineOf(const Step &step) {
  switch (step.op) {
  case Op::read:
    return fmt::format("tile.load %p{}[%c0] : !own -> tensor<1xi32>", step.place);
  case Op::write:
    return fmt::format("tile.store %one, %p{}[%c0] : tensor<1xi32>, !own", step.place);
  case Op::put:
    return fmt::format("dist.put %p{}, %p{} on %c{} : !own, !own", step.place, step.peerPlace,
                       step.peer);
  case Op::get:
    return fmt::format("dist.get %p{} on %c{}, %p{} : !own, !own", step.peerPlace, step.peer,
                       step.place);
  case Op::wait:
    return fmt::format("dist.wait %s[%c{}] {} %c{}{} : !dist.signals<1>", step.counter,
                       step.exact ? "==" : ">=", step.value, forms(step));
  case Op::fence:
    return "dist.fence" + forms(step);
  case Op::quiet:
    return "dist.quiet";
  default: {
    const char *mode = step.op == Op::add ? "add" : step.op == Op::store ? "store" : "subtract";
    return fmt::format("dist.notify %s[%c{}] on %c{} {} %c{}{} : !dist.signals<1>", step.counter,
                       step.peer, mode, step.value, forms(step));
  }
  }
}

} // namespace

Program randomProgram(uint64_t seed, bool forms) { return Generator(seed, forms).make(); }

std::string toText(Program &program) {
  Text text;
  text.add("!own = memref<?xi32, strided<[?], offset: ?>, #dist.space<symmetric>>");
  text.add(fmt::format("func.func @kernel() attributes {{tile.kernel, ranks = {}, cores = {}, "
                       "nodes = {}}} {{",
                       program.ranks, program.cores, program.nodes));
  for (int c = 0; c < 3; ++c)
    text.add(fmt::format("%c{} = arith.constant {} : index", c, c));
  text.add("%one = arith.constant dense<1> : tensor<1xi32>");
  text.add("%rank = dist.rank");
  text.add("%core = dist.core");
  text.add("%s = dist.signals \"s\"(%c2) : !dist.signals<1>");
  for (int p = 0; p < program.places; ++p)
    text.add(fmt::format("%p{0} = dist.symmetric \"p{0}\"(%c1) : !own", p));
  for (size_t a = 0; a < program.agents.size(); ++a) {
    Agent &agent = program.agents[a];
    text.add(fmt::format("%r{} = arith.cmpi eq, %rank, %c{} : index", a, agent.rank));
    text.add(fmt::format("%k{} = arith.cmpi eq, %core, %c{} : index", a, agent.core));
    text.add(fmt::format("%a{0} = arith.andi %r{0}, %k{0} : i1", a));
    text.add(fmt::format("scf.if %a{} {{", a));
    for (Step &step : agent.steps)
      step.line = text.add(lineOf(step));
    text.add("}");
  }
  text.add("return");
  text.add("}");
  return text.take();
}

} // namespace ditron::oracle
