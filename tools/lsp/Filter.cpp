// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/lsp/Filter.h"
#include "llvm/Support/FormatVariadic.h"

namespace ditron::tools {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

std::string print(const Value &value) { return llvm::formatv("{0}", value).str(); }

/// The object of a message; null where it is none.
Object *objectOf(llvm::Expected<Value> &parsed) {
  if (parsed)
    return parsed->getAsObject();
  llvm::consumeError(parsed.takeError());
  return nullptr;
}

std::string uriOf(const Object &params) {
  const Object *document = params.getObject("textDocument");
  return document ? document->getString("uri").value_or("").str() : "";
}

Value diagnosticOf(const text::Hazard &hazard) {
  int64_t line = hazard.line ? static_cast<int64_t>(hazard.line) - 1 : 0;
  return Object{{"range", Object{{"start", Object{{"line", line}, {"character", 0}}},
                                 {"end", Object{{"line", line + 1}, {"character", 0}}}}},
                {"severity", 1},
                {"source", "ditron"},
                {"message", hazard.message}};
}

} // namespace

/// Empties the "text" of an object where it is a hazard.
void Filter::judge(Object &holder, const std::string &uri) {
  std::optional<llvm::StringRef> text = holder.getString("text");
  if (!text)
    return;
  if (auto hazard = text::judge(std::string_view(*text), reader_).hazard) {
    hazards_[uri] = *hazard;
    holder["text"] = "";
  } else {
    hazards_.erase(uri);
  }
}

std::string Filter::toServer(const std::string &message) {
  llvm::Expected<Value> parsed = llvm::json::parse(message);
  Object *request = objectOf(parsed);
  Object *params = request ? request->getObject("params") : nullptr;
  llvm::StringRef method = request ? request->getString("method").value_or("") : "";
  if (!params || !method.starts_with("textDocument/did"))
    return message;
  std::string uri = uriOf(*params);
  if (method == "textDocument/didClose")
    hazards_.erase(uri);
  if (Object *document = params->getObject("textDocument"))
    judge(*document, uri);
  if (Array *changes = params->getArray("contentChanges"))
    for (Value &change : *changes)
      if (Object *one = change.getAsObject())
        judge(*one, uri);
  return print(*parsed);
}

std::string Filter::toEditor(const std::string &message) {
  llvm::Expected<Value> parsed = llvm::json::parse(message);
  Object *answer = objectOf(parsed);
  if (!answer)
    return message;
  if (Object *result = answer->getObject("result"))
    if (Object *capabilities = result->getObject("capabilities"))
      if (Object *sync = capabilities->getObject("textDocumentSync"))
        (*sync)["change"] = 1; // the whole text
  Object *params = answer->getObject("params");
  if (params && answer->getString("method") == "textDocument/publishDiagnostics")
    if (auto found = hazards_.find(params->getString("uri").value_or("").str());
        found != hazards_.end())
      (*params)["diagnostics"] = Array{diagnosticOf(found->second)};
  return print(*parsed);
}

} // namespace ditron::tools
