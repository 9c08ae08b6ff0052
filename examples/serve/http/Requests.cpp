// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Requests.h"
#include "ditron/support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace serve {

using namespace generate;

namespace {

/// The parameters of a body, which are taken out one by one: what is left is not known.
class Body {
public:
  explicit Body(std::string_view text) : object_(parsed(text)) {
    if (object_.is_discarded())
      throw BadRequest("", "the body does not parse as JSON");
    if (!object_.is_object())
      throw BadRequest(
          "", fmt::format("the body is JSON of type {}, expected an object", object_.type_name()));
  }
  /// Of an object that is in a body, as what `name` says.
  Body(const std::string &name, Json object) : object_(std::move(object)), within_(name + ".") {
    if (!object_.is_object())
      refuse(name, object_, "an object");
  }

  /// The parameter, or null.
  Json take(const std::string &name) {
    auto found = object_.find(name);
    if (found == object_.end())
      return nullptr;
    Json value = std::move(*found);
    object_.erase(found);
    return value;
  }

  double number(const std::string &name, double otherwise, double least, double most) {
    Json value = take(name);
    if (value.is_null())
      return otherwise;
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
      refuse(name, value, fmt::format("a number from {} to {}", least, most));
    return value.get<double>();
  }
  int64_t integer(const std::string &name, int64_t otherwise, int64_t least, int64_t most) {
    Json value = take(name);
    if (value.is_null())
      return otherwise;
    auto fits = [&] {
      double number = value.get<double>();
      return number >= double(least) && number <= double(most);
    };
    if (!value.is_number_integer() || !fits())
      refuse(name, value,
             least == most ? std::to_string(least)
                           : fmt::format("an integer from {} to {}", least, most));
    return value.get<int64_t>();
  }
  bool flag(const std::string &name) {
    Json value = take(name);
    if (!value.is_null() && !value.is_boolean())
      refuse(name, value, "true or false");
    return value.is_boolean() && value.get<bool>();
  }

  /// BadRequest naming a parameter that nobody has taken.
  void expectNoMore() const {
    if (object_.empty())
      return;
    std::string name = within_ + object_.begin().key();
    throw BadRequest(shortened(name),
                     fmt::format("'{}' is not known, or not supported", shortened(name)));
  }

  [[noreturn]] static void refuse(const std::string &name, const Json &found,
                                  const std::string &expected) {
    std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
    throw BadRequest(name, fmt::format("'{}' is {}, expected {}", name, shortened(text), expected));
  }
  static std::string shortened(const std::string &text) {
    constexpr size_t kMost = 60;
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
  }

private:
  /// Functions on deeper values would take the stack: they call themselves.
  static Json parsed(std::string_view text) {
    static constexpr int kDeepest = 64;
    auto limit = [](int depth, Json::parse_event_t, Json &) {
      if (depth > kDeepest)
        throw BadRequest("", fmt::format("the body has more than {} levels of JSON, expected at "
                                         "most that",
                                         kDeepest));
      return true;
    };
    return Json::parse(text, limit, false);
  }

  Json object_;
  std::string within_;
};

std::string textOf(const Json &value, const std::string &name) {
  if (!value.is_string())
    Body::refuse(name, value, "a string");
  return value.get<std::string>();
}

/// A text, or parts that are texts: each begins a line.
std::string contentOf(const Json &value) {
  if (!value.is_array() || value.empty())
    return textOf(value, "messages.content");
  std::string text;
  for (const Json &given : value) {
    Body part("messages.content", given);
    if (Json type = part.take("type"); type != "text")
      Body::refuse("messages.content.type", type, "\"text\"");
    text +=
        (&given == &value.front() ? "" : "\n") + textOf(part.take("text"), "messages.content.text");
    part.expectNoMore();
  }
  return text;
}

/// What developers say is what the system says, since there were developers.
std::string roleOf(const Json &value) {
  std::string role = textOf(value, "messages.role");
  if (role == "developer")
    return "system";
  if (role != "system" && role != "user" && role != "assistant")
    Body::refuse("messages.role", value, "system, developer, user or assistant");
  return role;
}

ChatMessage messageOf(const Json &value) {
  if (!value.is_object() || !value.contains("role") || !value.contains("content"))
    Body::refuse("messages", value, "an object with role and content");
  Body message("messages", value);
  for (const char *known : {"role", "content", "name"}) // whose name it is has no effect
    message.take(known);
  for (const char *name : {"refusal", "tool_calls", "function_call", "audio", "annotations"})
    if (Json given = message.take(name); !given.empty()) // of an answer that had none
      Body::refuse(fmt::format("messages.{}", name), given, "nothing: it is not supported");
  message.expectNoMore();
  return {roleOf(value["role"]), contentOf(value["content"])};
}

/// The tokens of a parameter's texts.
template <class Encode> std::vector<Token> encoded(const char *name, const Encode &encode) {
  try {
    return encode();
  } catch (const ditron::RuntimeError &error) {
    throw BadRequest(name, fmt::format("'{}' has no tokens: {}", name, error.what()));
  }
}

std::vector<Token> chatOf(const Tokenizer &tokenizer, const Json &messages) {
  if (!messages.is_array() || messages.empty())
    Body::refuse("messages", messages, "an array of messages");
  std::vector<ChatMessage> chat;
  for (const Json &message : messages)
    chat.push_back(messageOf(message));
  if (!tokenizer.takesChats())
    throw BadRequest("messages", "the model takes no chats: it has no tokens for their messages");
  return encoded("messages", [&] { return encodeChat(tokenizer, chat); });
}

/// A text, ids of tokens, or one of these in an array, as clients that have several prompts send one.
std::vector<Token> promptOf(const Tokenizer &tokenizer, const Json &value) {
  constexpr auto kExpected = "a string, or an array of ids of tokens from 0 to {}: one prompt";
  auto refuse = [&] {
    Body::refuse("prompt", value, fmt::format(kExpected, tokenizer.size() - 1));
  };
  bool isWrapped = value.is_array() && value.size() == 1 && !value.front().is_number();
  const Json &prompt = isWrapped ? value.front() : value;
  if (prompt.is_string())
    return encoded("prompt", [&] { return tokenizer.encode(prompt.get<std::string>()); });
  if (!prompt.is_array())
    refuse();
  std::vector<Token> tokens;
  for (const Json &id : prompt) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= uint64_t(tokenizer.size()))
      refuse();
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

std::vector<std::string> stopsOf(const Json &value) {
  constexpr size_t kMost = 4, kMostBytes = 1024;
  std::vector<std::string> stops;
  if (value.is_string())
    stops = {value.get<std::string>()};
  else if (value.is_array() && value.size() <= kMost)
    for (const Json &stop : value)
      stops.push_back(textOf(stop, "stop"));
  else if (!value.is_null())
    Body::refuse("stop", value, fmt::format("a string, or an array of up to {}", kMost));
  if (std::ranges::count(stops, std::string()) > 0)
    Body::refuse("stop", value, "texts that are not empty");
  for (const std::string &stop : stops)
    if (stop.size() > kMostBytes)
      Body::refuse("stop", stop, fmt::format("texts of up to {} bytes", kMostBytes));
  return stops;
}

/// Parameters that may ask for what there is, as they do where nobody has chosen.
void takeUsual(Body &body) {
  const std::pair<const char *, Json> usual[] = {
      {"response_format", Json::array({Json::object({{"type", "text"}})})},
      {"tool_choice", Json::array({"none", "auto"})},
      {"parallel_tool_calls", Json::array({true, false})},
      {"store", Json::array({false})},
      {"service_tier", Json::array({"auto", "default"})},
      {"top_logprobs", Json::array({0})},
      {"modalities", Json::array({Json::array({"text"})})}};
  for (const auto &[name, known] : usual)
    if (Json value = body.take(name); !value.is_null() && std::ranges::count(known, value) == 0)
      Body::refuse(name, value, fmt::format("one of {}", known.dump()));
}

/// Parameters that have no effect: what they ask for is what there is.
void takeTrivial(Body &body) {
  body.integer("n", 1, 1, 1);
  body.integer("best_of", 1, 1, 1);
  for (const char *name : {"presence_penalty", "frequency_penalty"})
    body.number(name, 0, 0, 0);
  for (const char *name :
       {"user", "metadata", "logprobs", "logit_bias", "suffix", "echo", "tools"}) {
    Json value = body.take(name);
    bool isNothing = value.is_null() || value == false || value.empty() || value == "" ||
                     std::string_view(name) == "user" || std::string_view(name) == "metadata";
    if (!isNothing)
      Body::refuse(name, value, "nothing: it is not supported");
  }
  takeUsual(body);
}

SamplerOptions samplingOf(Body &body) {
  SamplerOptions options;
  options.temperature = body.number("temperature", 0, 0, 100);
  options.topP = body.number("top_p", 1, 1e-9, 1);
  options.topK = body.integer("top_k", 0, 0, 1 << 30);
  options.seed = uint64_t(body.integer("seed", 0, 0, int64_t(1) << 53));
  return options;
}

/// Tokens of the answer: what was asked for, or by default what there is room for, within a bound.
/// `name`: of the prompt.
int64_t mostOf(Body &body, const char *name, int64_t prompt, int64_t context) {
  constexpr int64_t kDefault = 128;
  int64_t left = context - prompt;
  if (left < 1)
    throw BadRequest(name, fmt::format("'{}' has {} tokens, expected at most {}, so that there is "
                                       "room for an answer",
                                       name, prompt, context - 1));
  int64_t older = body.integer("max_tokens", 0, 1, int64_t(1) << 30);
  int64_t newer = body.integer("max_completion_tokens", 0, 1, int64_t(1) << 30);
  int64_t asked = newer ? newer : older;
  if (asked > left) {
    const char *most = newer ? "max_completion_tokens" : "max_tokens";
    throw BadRequest(most, fmt::format("'{}' is {} behind a prompt of {} tokens, expected at most "
                                       "{}: the context is {}",
                                       most, asked, prompt, left, context));
  }
  return asked ? asked : std::min(kDefault, left);
}

void checkModel(const Served &served, const Json &model) {
  if (!model.is_null() && model != served.model)
    Body::refuse("model", model, fmt::format("\"{}\"", served.model));
}

} // namespace

Asked parseRequest(const Served &served, Api api, std::string_view text) {
  Body body(text);
  checkModel(served, body.take("model"));
  takeTrivial(body);
  SamplerOptions sampling = samplingOf(body);
  std::vector<std::string> stops = stopsOf(body.take("stop"));
  bool isStream = body.flag("stream"), isUsageWanted = false;
  if (Json options = body.take("stream_options"); !options.is_null()) {
    if (!isStream)
      Body::refuse("stream_options", options, "none without stream");
    Body known("stream_options", options);
    isUsageWanted = known.flag("include_usage");
    known.expectNoMore();
  }
  const char *name = api == Api::chat ? "messages" : "prompt";
  Json prompt = body.take(name);
  std::vector<Token> tokens =
      api == Api::chat ? chatOf(served.tokenizer, prompt) : promptOf(served.tokenizer, prompt);
  if (tokens.empty())
    throw BadRequest(name, fmt::format("'{}' has no tokens, expected one or more", name));
  int64_t most = mostOf(body, name, std::ssize(tokens), served.context);
  body.expectNoMore();
  return {{std::move(tokens), most, Sampler(sampling), std::move(stops)}, isStream, isUsageWanted};
}

} // namespace serve
