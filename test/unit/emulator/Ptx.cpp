// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ptx.h"
#include "Emulator.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>

namespace ditron::emulator {

namespace {

constexpr Word kTogether[] = {"bar", "barrier", "shfl", "vote", "wgmma", "mma", "ldmatrix"};

struct NamedType {
  Word name;
  unsigned bits;
};
constexpr NamedType kTypes[] = {
    {"b32", 32},    {"f32", 32},   {"s32", 32},   {"u32", 32},  {"b64", 64}, {"f64", 64},
    {"s64", 64},    {"u64", 64},   {"b16", 16},   {"s16", 16},  {"u16", 16}, {"f16", 16},
    {"bf16", 16},   {"b8", 8},     {"s8", 8},     {"u8", 8},    {"pred", 1}, {"f16x2", 32},
    {"bf16x2", 32}, {"s16x2", 32}, {"u16x2", 32}, {"b128", 128}};

const NamedType *typeNamed(Word name) {
  auto found = std::ranges::find(kTypes, name, &NamedType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

/// Whether a part of an opcode is a type, known or not: "u8x4", and no "sync".
bool isLikeType(Word part) {
  return std::string_view("usbf").find(part[0]) != std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(part[1]));
}

/// Instructions that name no type are of "b32".
NamedType typeOf(const Instruction &i) {
  for (auto part = i.opcode.rbegin(); part != i.opcode.rend(); ++part) {
    if (const NamedType *type = typeNamed(*part))
      return *type;
    if (isLikeType(*part))
      throw Fault("an unknown type: " + i.text);
  }
  return {"b32", 32};
}

/// What an instruction does beside the usual, which is to round to nearest and to wrap around.
constexpr Word kModifiers[] = {"rz", "rm", "rp", "sat", "ftz", "cc", "relu", "xorsign"};

std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t;");
  return first == std::string::npos ? "" : text.substr(first, last + 1 - first);
}

/// Parts between commas that no bracket encloses.
std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty())
    parts.push_back(trimmed(part));
  return parts;
}

class Parser {
public:
  Program parse(const std::string &ptx) {
    std::istringstream lines(ptx);
    bool isInside = false;
    for (std::string line; std::getline(lines, line);) {
      if (size_t comment = line.find("//"); comment != std::string::npos)
        line.resize(comment);
      line = trimmed(line);
      if (size_t at = line.find("ditron_kernel_param_");
          !isInside && at != std::string::npos && line.find(".param") == 0)
        addParameter(line.substr(at));
      if (line == "{" && !isInside)
        isInside = true;
      else if (isInside && line == "{")
        addBlock(restOfBlock(lines));
      else if (isInside && line == "}")
        break;
      else if (isInside && line.find(".local ") == 0)
        addLocal(line);
      else if (isInside && !line.empty() && line[0] != '.')
        addLine(line);
    }
    for (auto &[number, label] : branches_)
      program_.instructions[static_cast<size_t>(number)].target = labels_.at(label);
    program_.registers = static_cast<int>(registers_.size());
    return program_;
  }

private:
  /// The lines to the end of a block, in one.
  static std::string restOfBlock(std::istream &lines) {
    std::string block;
    for (std::string line; std::getline(lines, line) && trimmed(line) != "}";)
      block += trimmed(line) + ";"; // which that takes off
    return block;
  }

  void addParameter(std::string name) {
    name.resize(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos
                    ? name.size()
                    : name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"));
    int number = static_cast<int>(program_.parameters.size());
    program_.parameters[name] = number;
  }

  /// ".local .align 8 .b8 __local_depot0[16];": one a function.
  void addLocal(const std::string &line) {
    if (line.find("__local_depot0[") == std::string::npos)
      throw Fault("local memory of another name: " + line);
    program_.localBytes = std::stoul(line.substr(line.find('[') + 1));
  }

  void addLine(const std::string &line) {
    if (line.starts_with(".pragma "))
      return; // for an assembler
    if (line.back() == ':') {
      labels_[line.substr(0, line.size() - 1)] = static_cast<int>(program_.instructions.size());
      return;
    }
    // A loop around a wait: the wait alone, which blocks here; or until a word is not 0, or for one of two barriers.
    if (size_t wait = line.find("mbarrier.try_wait"); wait != std::string::npos) {
      std::string text = line.substr(wait, line.find(';', wait) - wait);
      if (size_t load = line.find("ld.volatile.shared.u32"); load != std::string::npos)
        text += ", " + line.substr(load + 22, line.find(';', load) - load - 22);
      if (size_t other = line.find("mbarrier.test_wait"); other != std::string::npos) {
        size_t name = std::strlen("mbarrier.try_wait"), operands = line.find('[', other);
        text = "mbarrier.try_wait.test_wait" + text.substr(name, text.rfind(',') - name) + ", " +
               line.substr(operands, line.find(';', operands) - operands);
      }
      return addInstruction(text, line);
    }
    if (line[0] == '{')
      return addBlock(line.substr(1, line.rfind('}') - 1));
    addInstruction(line, line);
  }

  /// Instructions with registers of their own: "{ .reg .b64 low; mov.b64 low, %rd1; }". One of 128
  /// bits is a list of two registers.
  void addBlock(const std::string &block) {
    std::istringstream statements(block);
    std::map<std::string, std::string> names;
    for (std::string statement; std::getline(statements, statement, ';');) {
      statement = trimmed(statement);
      if (statement.starts_with(".reg ")) {
        bool isWide = statement.find(".b128") != std::string::npos;
        for (const std::string &name : splitList(statement.substr(statement.find(' ', 5))))
          names[name] = isWide ? "{%" + name + "_low, %" + name + "_high}" : "%" + name;
      } else if (!statement.empty()) {
        addInstruction(replaceWords(statement, names), block);
      }
    }
  }

  static std::string replaceWords(const std::string &text,
                                  const std::map<std::string, std::string> &names) {
    std::string result, word;
    for (char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_%.$", c)) {
        word += c;
        continue;
      }
      auto found = names.find(word);
      result += (found == names.end() ? word : found->second) + c;
      word.clear();
    }
    return trimmed(result);
  }

  void addInstruction(std::string text, const std::string &line) {
    Instruction result;
    result.text = line;
    if (text[0] == '@') {
      size_t end = text.find_first_of(" \t");
      result.isNegated = text[1] == '!';
      result.predicate =
          registerOf(text.substr(result.isNegated ? 2 : 1, end - 1 - result.isNegated));
      text = trimmed(text.substr(end));
    }
    size_t end = std::min(text.find_first_of(" \t"), text.size());
    std::istringstream parts(text.substr(0, end));
    for (std::string part; std::getline(parts, part, '.');)
      result.opcode.push_back(Word::kept(part));
    NamedType type = typeOf(result);
    result.typeName = type.name;
    result.bits = type.bits;
    result.isModified =
        std::ranges::any_of(kModifiers, [&](Word modifier) { return result.has(modifier); });
    result.isTogether = std::ranges::find(kTogether, result.name()) != std::end(kTogether);
    std::string rest = trimmed(text.substr(end));
    if (result.name() == "bra")
      branches_.emplace_back(static_cast<int>(program_.instructions.size()), rest);
    else
      for (const std::string &operand : splitList(rest))
        result.operands.push_back(parseOperand(operand));
    program_.isDependent |= result.name() == "griddepcontrol" && result.has("wait");
    program_.instructions.push_back(std::move(result));
  }

  int registerOf(const std::string &name) {
    return registers_.try_emplace(trimmed(name), static_cast<int>(registers_.size())).first->second;
  }

  Operand parseOperand(const std::string &text) {
    using Kind = Operand::Kind;
    if (size_t bar = text.find('|'); bar != std::string::npos) // two predicates
      return {Kind::list,
              -1,
              0,
              {},
              {parseOperand(text.substr(0, bar)), parseOperand(text.substr(bar + 1))}};
    if (text[0] == '{') {
      Operand result{Kind::list};
      for (const std::string &part : splitList(text.substr(1, text.size() - 2)))
        result.parts.push_back(parseOperand(part));
      return result;
    }
    if (text[0] == '[')
      return parseAddress(text.substr(1, text.size() - 2));
    size_t dot = text.find('.');
    if (text[0] == '%' &&
        (dot != std::string::npos || text == "%globaltimer" || text == "%cluster_ctarank"))
      return {Kind::symbol, -1, 0, Word::kept(text)};
    if (text[0] == '%')
      return {Kind::reg, registerOf(text)};
    if (text.starts_with("0f") || text.starts_with("0d"))
      return {Kind::number, -1, std::stoull(text.substr(2), nullptr, 16)};
    if (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-')
      return {Kind::number, -1,
              text[0] == '-' ? static_cast<uint64_t>(std::stoll(text, nullptr, 0))
                             : std::stoull(text, nullptr, 0)};
    auto parameter = program_.parameters.find(text);
    if (parameter != program_.parameters.end())
      return {Kind::number, -1, kParameters + static_cast<uint64_t>(parameter->second)};
    return {Kind::symbol, -1, 0, Word::kept(text)};
  }

  Operand parseAddress(const std::string &text) {
    Operand result{Operand::Kind::address};
    for (const std::string &part : splitList(text)) {
      size_t plus = part.find('+');
      result.parts.push_back(parseOperand(part.substr(0, plus)));
      if (plus != std::string::npos)
        result.number = static_cast<uint64_t>(std::stoll(part.substr(plus + 1)));
    }
    return result;
  }

  Program program_;
  std::map<std::string, int> registers_, labels_;
  std::vector<std::pair<int, std::string>> branches_;
};

} // namespace

Word Word::kept(const std::string &text) {
  static std::mutex lock;
  static std::set<std::string> all;
  std::lock_guard guard(lock);
  return Word(std::string_view(*all.insert(text).first));
}

unsigned bitsIn(Word type) {
  if (const NamedType *known = typeNamed(type))
    return known->bits;
  throw Fault("an unknown type: " + std::string(type.text()));
}

Program parse(const std::string &ptx) { return Parser().parse(ptx); }

} // namespace ditron::emulator
