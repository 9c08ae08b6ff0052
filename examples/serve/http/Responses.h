// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers as OpenAI's API has them.
#pragma once
#include "http/Requests.h"
#include <string>

namespace serve {

/// The parts of one answer: a whole object, or events of a stream.
class AnswerFormat {
public:
  /// `number`: of the request, from which its id follows. `isUsageWanted`: behind a stream.
  AnswerFormat(Api api, const std::string &model, int64_t number, int64_t promptTokens,
               bool isUsageWanted);

  std::string whole(const Answer::State &state) const;
  /// An event with more text; the first one of a chat also says whose it is.
  std::string event(const std::string &text, bool isFirst) const;
  /// The last events: why the answer has ended, what it has taken if that is wanted, and the end. `isFirst`: none
  /// came before them.
  std::string lastEvents(const Answer::State &state, bool isFirst) const;

private:
  generate::Json object(bool isEvent) const;
  generate::Json chunk(const generate::Json &choices) const;
  generate::Json usage(const Answer::State &state) const;

  Api api_;
  std::string model_, id_;
  int64_t created_, promptTokens_;
  bool isUsageWanted_;
};

/// {"error": ...} with a type, a message and perhaps a parameter.
std::string errorText(const std::string &type, const std::string &message,
                      const std::string &parameter = {});

} // namespace serve
