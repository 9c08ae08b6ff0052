// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ditron/lower/DescribeKernel.h"
#include "ditron/support/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ditron::lower {

namespace json = llvm::json;

/// Where the text of a description is attached (string attribute of the module).
static constexpr llvm::StringLiteral kInfoAttr = "dist.kernel_info";

static json::Value toJson(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case([](UnitAttr) { return true; })
      .Case([](BoolAttr value) { return value.getValue(); })
      .Case([](IntegerAttr value) { return value.getInt(); })
      .Case([](StringAttr value) { return value.str(); })
      .Case([](DenseI64ArrayAttr values) { return json::Array(values.asArrayRef()); })
      .Case([](ArrayAttr values) {
        json::Array array;
        for (Attribute value : values)
          array.push_back(toJson(value));
        return array;
      })
      .Case([](DictionaryAttr values) {
        json::Object object;
        for (NamedAttribute value : values)
          object[value.getName().getValue()] = toJson(value.getValue());
        return object;
      })
      .Default([](Attribute) { return nullptr; });
}

FailureOr<abi::KernelInfo> describeKernel(func::FuncOp kernel) {
  abi::KernelInfo defaults;
  defaults.name = kernel.getName().str();
  json::Value fields = llvm::cantFail(json::parse(abi::toText(defaults)));
  for (NamedAttribute attribute : kernel->getAttrs()) {
    StringRef field = attribute.getName().getValue().split('.').second;
    if (json::Value *known = fields.getAsObject()->get(field))
      *known = toJson(attribute.getValue());
  }
  std::string text;
  llvm::raw_string_ostream(text) << fields;
  try {
    return abi::fromText(text);
  } catch (const RuntimeError &error) {
    return kernel.emitError() << error.what();
  }
}

void attachInfos(ModuleOp module, ArrayRef<abi::KernelInfo> infos) {
  SmallVector<Attribute> texts;
  for (const abi::KernelInfo &info : infos)
    texts.push_back(StringAttr::get(module.getContext(), abi::toText(info)));
  module->setAttr(kInfoAttr, ArrayAttr::get(module.getContext(), texts));
}

std::vector<abi::KernelInfo> attachedInfos(ModuleOp module) {
  std::vector<abi::KernelInfo> infos;
  if (auto texts = module->getAttrOfType<ArrayAttr>(kInfoAttr))
    for (auto text : texts.getAsRange<StringAttr>())
      infos.push_back(abi::fromText(text.getValue()));
  return infos;
}

void embedInfo(const abi::KernelInfo &info, llvm::Module &code, unsigned addressSpace) {
  auto *text = llvm::ConstantDataArray::getString(code.getContext(), abi::toText(info));
  new llvm::GlobalVariable(code, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text, "ditron_kernel_info", nullptr,
                           llvm::GlobalValue::NotThreadLocal, addressSpace);
}

} // namespace ditron::lower
