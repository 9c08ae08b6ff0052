// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Task level: kernels as nodes of one program.
#ifndef DITRON_TASK_TASKOPS
#define DITRON_TASK_TASKOPS

include "ditron/core/TileTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Task_Dialect : Dialect {
  let name = "task";
  let summary = "Kernels as nodes of one program, and the tiles that they hand to one another";
  let description = [{
    A graph stands beside the functions of its kernels. Its ops follow one another as the launches
    of its nodes would: a node that updates a tensor in place is seen by the nodes behind it. A
    tensor is used behind the op that makes it, so that no cycle can be written.
  }];
  let cppNamespace = "::ditron::task";
  let dependentDialects = ["::ditron::device::DistDialect", "::mlir::func::FuncDialect"];
  let useDefaultTypePrinterParser = 1;
}

//===-- Types ---------------------------------------------------------------------------------===//

class Task_Type<string name, string typeMnemonic> : TypeDef<Task_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Task_TensorType : Task_Type<"Memory", "tensor"> {
  let summary = "A tensor of a graph: extents, where they are known before the launch, and elements";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Task_NodeType : Task_Type<"Node", "node"> {
  let summary = "A node, as edges name it";
}

def Task_EdgeKind
    : I32EnumAttr<"EdgeKind", "why a node follows another",
                  [I32EnumAttrCase<"readAfterWrite", 0, "read_after_write">,
                   I32EnumAttrCase<"writeAfterWrite", 1, "write_after_write">,
                   I32EnumAttrCase<"writeAfterRead", 2, "write_after_read">]> {
  let cppNamespace = "::ditron::task";
}

//===-- Ops -----------------------------------------------------------------------------------===//

class Task_Op<string opMnemonic, list<Trait> traits = []> : Op<Task_Dialect, opMnemonic, traits>;

def Task_GraphOp : Task_Op<"graph", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A graph of kernels";
  let description = [{
    Its kernels are functions of the module that are marked `tile.kernel`. Which tile of a node
    waits for which tiles of others follows from the tiles that the kernels read and write.

    Example:
    ```mlir
    func.func @scale(%x: memref<?xf32, strided<[?], offset: ?>> {tile.name = "x", tile.readonly},
                     %by: f32 {tile.name = "by"},
                     %y: memref<?xf32, strided<[?], offset: ?>> {tile.name = "y"})
        attributes {tile.extents = [["N"], [], ["N"]], tile.kernel} {
      return
    }
    task.graph @twice {
      %x = task.input "x[N]" : !task.tensor<?xf32>
      %first, %h = task.node "first" @scale(%x, 2.000000e+00 : f64) : (!task.tensor<?xf32>) -> !task.tensor<?xf32>
      %second, %y = task.node "second" @scale(%h, 3.000000e+00 : f64) : (!task.tensor<?xf32>) -> !task.tensor<?xf32>
      task.output %y : !task.tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $sym_name attr-dict-with-keyword $body }];
  let hasRegionVerifier = 1;
}

def Task_InputOp : Task_Op<"input"> {
  let summary = "A tensor that launches are given";
  let description = [{
    Declared as in a signature: a dimension is a name or a number, and one name has one extent in
    all inputs. Launches take inputs in the order of these ops, then outputs.

    Example:
    ```mlir
    %x = task.input "x[M,64]" : !task.tensor<?x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$declaration);
  let results = (outs Task_TensorType:$tensor);
  let assemblyFormat = [{ $declaration attr-dict `:` type($tensor) }];
}

def Task_ConstantOp : Task_Op<"constant"> {
  let summary = "A tensor that lives as long as the graph: weights, caches";
  let description = [{
    What it holds is no part of the IR. All of its extents are known.

    Example:
    ```mlir
    %w = task.constant "up 0" : !task.tensor<64x32xbf16>
    ```
  }];
  let arguments = (ins StrAttr:$label);
  let results = (outs Task_TensorType:$tensor);
  let assemblyFormat = [{ $label attr-dict `:` type($tensor) }];
  let hasVerifier = 1;
}

def Task_NodeOp : Task_Op<"node", [AttrSizedOperandSegments]> {
  let summary = "An invocation of a kernel";
  let description = [{
    In parentheses stand the kernel's inputs: tensors of the graph and numbers. `update` lists what
    lies somewhere already of what the kernel writes, the first of its outputs. The other outputs
    are made, and are results behind the node itself.

    Example:
    ```mlir
    %n, %h = task.node "layer 0 up" @up(%x, %w, 5.000000e-01 : f64) : (!task.tensor<?x64xf32>, !task.tensor<64x32xf32>) -> !task.tensor<?x?xf32>
    %m = task.node "layer 0 down" @down(%h, %v) update(%x) : (!task.tensor<?x?xf32>, !task.tensor<64x32xf32>, !task.tensor<?x64xf32>)
    ```
  }];
  let arguments = (ins StrAttr:$label, FlatSymbolRefAttr:$kernel, Variadic<Task_TensorType>:$inputs,
      Variadic<Task_TensorType>:$updated, ArrayAttr:$inputForms);
  let results = (outs Task_NodeType:$node, Variadic<Task_TensorType>:$made);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number that input `n` of the kernel is given; null where that is a tensor.
    ::mlir::Attribute numberOf(size_t n) {
      ::mlir::Attribute form = getInputForms()[n];
      return ::llvm::isa<::mlir::UnitAttr>(form) ? ::mlir::Attribute() : form;
    }
  }];
}

def Task_OutputOp : Task_Op<"output"> {
  let summary = "A tensor that launches are given to write";
  let description = [{
    It is what a node has made, as it is in the end.

    Example:
    ```mlir
    task.output %y : !task.tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Task_TensorType:$tensor);
  let assemblyFormat = [{ $tensor attr-dict `:` type($tensor) }];
}

def Task_EdgeOp : Task_Op<"edge"> {
  let summary = "Tiles of a node follow tiles of an earlier one";
  let description = [{
    A tile of `to` waits for the tiles of `from` whose boxes of the tensor overlap with its own. A box
    is a text for each dimension: the first element and how many there are, as expressions of
    abi/Extent.h on the coordinates v0, v1, ... of the tile; or `*`, all of the dimension. It is what
    `task-edges` finds; schedules look at every pair of accesses themselves.

    Example:
    ```mlir
    %n, %h = task.node "up" @up(%x) : (!task.tensor<?x?xf32>) -> !task.tensor<?x?xf32>
    %m = task.node "down" @down(%h) update(%x) : (!task.tensor<?x?xf32>, !task.tensor<?x?xf32>)
    task.edge %n to %m of %h read_after_write ["v0 8 mul : 8", "*"] to ["v0 16 mul : 16", "*"] : !task.tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Task_NodeType:$from, Task_NodeType:$to, Task_TensorType:$tensor,
      Task_EdgeKind:$kind, StrArrayAttr:$fromBox, StrArrayAttr:$toBox);
  let assemblyFormat = [{
    $from `to` $to `of` $tensor $kind $fromBox `to` $toBox attr-dict `:` type($tensor)
  }];
  let hasVerifier = 1;
}

#endif
