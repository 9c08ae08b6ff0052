// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between an editor and MLIR's language server: a text on which the server would crash never reaches
// it. The server gets an empty text in its place, and the editor an error at the line.
//
// So that every message brings the text as a whole, the server's offer of incremental changes is
// withdrawn on its way to the editor.
#pragma once
#include "ditron/text/Text.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace ditron::tools {

class Filter {
public:
  explicit Filter(text::Reader reader) : reader_(std::move(reader)) {}

  /// A message of the editor as the server is to get it.
  std::string toServer(const std::string &message);
  /// A message of the server as the editor is to get it.
  std::string toEditor(const std::string &message);

private:
  void judge(llvm::json::Object &holder, const std::string &uri);

  text::Reader reader_;
  std::map<std::string, text::Hazard> hazards_; ///< of the texts withheld, by URI
};

} // namespace ditron::tools
