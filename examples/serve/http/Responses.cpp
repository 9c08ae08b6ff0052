// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "http/Responses.h"
#include <ctime>
#include <fmt/format.h>

namespace serve {

using generate::Json;

static std::string textOf(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
static std::string eventOf(const Json &json) { return fmt::format("data: {}\n\n", textOf(json)); }

static Json finishOf(Finish finish) {
  if (finish == Finish::none)
    return nullptr;
  return finish == Finish::length ? "length" : "stop";
}

AnswerFormat::AnswerFormat(Api api, const std::string &model, int64_t number, int64_t promptTokens,
                           bool isUsageWanted)
    : api_(api), model_(model),
      id_(fmt::format("{}-{}", api == Api::chat ? "chatcmpl" : "cmpl", number)),
      created_(std::time(nullptr)), promptTokens_(promptTokens), isUsageWanted_(isUsageWanted) {}

Json AnswerFormat::object(bool isEvent) const {
  const char *kind = "text_completion";
  if (api_ == Api::chat)
    kind = isEvent ? "chat.completion.chunk" : "chat.completion";
  return {{"id", id_}, {"object", kind}, {"created", created_}, {"model", model_}};
}

Json AnswerFormat::usage(const Answer::State &state) const {
  return {{"prompt_tokens", promptTokens_},
          {"completion_tokens", state.tokens},
          {"total_tokens", promptTokens_ + state.tokens}};
}

std::string AnswerFormat::whole(const Answer::State &state) const {
  Json choice = {{"index", 0}, {"finish_reason", finishOf(state.finish)}, {"logprobs", nullptr}};
  if (api_ == Api::chat)
    choice["message"] = {{"role", "assistant"}, {"content", state.text}};
  else
    choice["text"] = state.text;
  Json json = object(false);
  json["choices"] = Json::array({choice});
  json["usage"] = usage(state);
  return textOf(json);
}

/// An event's object. Where the usage is wanted all have it, as null but for the last one.
Json AnswerFormat::chunk(const Json &choices) const {
  Json json = object(true);
  json["choices"] = choices;
  if (isUsageWanted_)
    json["usage"] = nullptr;
  return json;
}

/// What a chat's event adds to the message.
static Json deltaOf(bool isFirst) {
  return isFirst ? Json{{"role", "assistant"}, {"content", ""}} : Json::object();
}

std::string AnswerFormat::event(const std::string &text, bool isFirst) const {
  Json choice = {{"index", 0}, {"finish_reason", nullptr}};
  if (api_ == Api::chat) {
    choice["delta"] = deltaOf(isFirst);
    choice["delta"]["content"] = text;
  } else {
    choice["text"] = text;
  }
  return eventOf(chunk(Json::array({choice})));
}

std::string AnswerFormat::lastEvents(const Answer::State &state, bool isFirst) const {
  if (state.finish == Finish::failed)
    return fmt::format("data: {}\n\n", errorText("server_error", state.error));
  Json choice = {{"index", 0}, {"finish_reason", finishOf(state.finish)}};
  if (api_ == Api::chat)
    choice["delta"] = deltaOf(isFirst);
  else
    choice["text"] = "";
  std::string events = eventOf(chunk(Json::array({choice})));
  if (isUsageWanted_) {
    Json last = chunk(Json::array());
    last["usage"] = usage(state);
    events += eventOf(last);
  }
  return events + "data: [DONE]\n\n";
}

std::string errorText(const std::string &type, const std::string &message,
                      const std::string &parameter) {
  Json error = {{"message", message}, {"type", type}, {"code", nullptr}};
  error["param"] = parameter.empty() ? Json(nullptr) : Json(parameter);
  return textOf({{"error", error}});
}

} // namespace serve
