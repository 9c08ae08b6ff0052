// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the lowering to GPUs. Each stands in the file of its name.
#ifndef DITRON_GPU_PASSES
#define DITRON_GPU_PASSES

include "mlir/Pass/PassBase.td"

def TargetOption : Option<"targetName", "target", "std::string", "\"\"",
                          "The GPU that code is made for; none: the first one known">;
def WarpsOption : Option<"warps", "warps", "int64_t", "0",
                         "Warps of a CTA; 0: as many as the tiles ask for">;
def CtasPerSmOption : Option<"ctasPerSm", "ctas-per-sm", "int64_t", "0",
                            "CTAs per SM; 0: as tiles and registers ask">;
def TensorMapsOption : Option<"tensorMaps", "tensor-maps", "bool", "false",
                              "Launches may pass tensor maps of the arguments that TMA loads">;

def CheckSupported : Pass<"simt-check-supported", "::mlir::func::FuncOp"> {
  let summary = "Refuses what a GPU has no lowering for";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
  let options = [TargetOption];
}

def SpreadTiles : Pass<"simt-spread-tiles", "::mlir::func::FuncOp"> {
  let summary = "Gives each tile a CTA of its own, where CTAs need not be there together";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SelectViews : Pass<"simt-select-views", "::mlir::func::FuncOp"> {
  let summary = "Reads views that are chosen among arguments from a table in memory";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::ditron::gpu::SimtDialect"];
}

def FoldExtents : Pass<"simt-fold-extents", "::mlir::func::FuncOp"> {
  let summary = "Makes constants of the extents that are known of views";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SwitchTypes : Pass<"simt-switch-types", "::mlir::func::FuncOp"> {
  let summary = "Joins the branches of the types of tasks: what a task is, is asked in one place";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def DistToDevice : Pass<"simt-dist-to-device", "::mlir::func::FuncOp"> {
  let summary = "Turns ranks, cores, verbs and requirements into what a device knows of them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::ditron::gpu::SimtDialect"];
  let options = [TargetOption, Option<"recorded", "recorded", "bool", "false",
                                      "What CTAs do is noted in the log of the device">];
}

def MergeNotifies : Pass<"simt-merge-notifies", "::mlir::func::FuncOp"> {
  let summary = "Notifies of several ranks in a row become one release";
  let dependentDialects = ["::mlir::scf::SCFDialect", "::ditron::gpu::SimtDialect"];
}

def PrefetchConstants : Pass<"simt-prefetch-constants", "::mlir::func::FuncOp"> {
  let summary = "Asks for what a task of a graph reads and nobody writes, before the task waits";
  let dependentDialects = ["::mlir::scf::SCFDialect", "::ditron::gpu::SimtDialect"];
}

def SinkWaits : Pass<"simt-sink-waits", "::mlir::func::FuncOp"> {
  let summary = "Has a task of a graph wait where it first reads or writes what tasks share, and ask for caches before";
  let dependentDialects = ["::mlir::scf::SCFDialect", "::ditron::gpu::SimtDialect"];
}

def OutlineRegions : Pass<"simt-outline-regions", "::mlir::ModuleOp"> {
  let summary = "Takes a kernel apart into regions that are planned by themselves, where roles ask for it";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
  let options = [TargetOption, WarpsOption, CtasPerSmOption, TensorMapsOption];
}

def JoinRegions : Pass<"simt-join-regions", "::mlir::ModuleOp"> {
  let summary = "Gives the regions of a kernel one CTA";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::gpu::SimtDialect"];
  let options = [TargetOption];
}

def SimplifyDots : Pass<"simt-simplify-dots", "::mlir::func::FuncOp"> {
  let summary = "Turns products of 8-bit floats into products of f16, and those of one term into "
                "arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::ditron::gpu::SimtDialect"];
  let options = [TargetOption, WarpsOption, CtasPerSmOption, TensorMapsOption];
}

def DeferLoads : Pass<"simt-defer-loads", "::mlir::func::FuncOp"> {
  let summary = "Finds tiles that may be read part by part, as their store comes to them";
}

def AssignLayouts : Pass<"simt-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Deals every tile to the threads of a CTA, or puts it into shared memory";
  let dependentDialects = ["::ditron::core::TileDialect", "::ditron::gpu::SimtDialect"];
  let options = [
    TargetOption, WarpsOption, CtasPerSmOption, TensorMapsOption,
    Option<"tensorStores", "tensor-stores", "bool", "false",
           "Launches may pass tensor maps of the arguments that TMA stores">];
}

def HoistConversions : Pass<"simt-hoist-conversions", "::mlir::func::FuncOp"> {
  let summary = "Tiles that loops carry change their threads behind the loop";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CarryRows : Pass<"simt-carry-rows", "::mlir::func::FuncOp"> {
  let summary = "Asks for the next task's row of the table while the task before it runs";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::gpu::SimtDialect"];
}

def ReceiveTogether : Pass<"simt-receive-together", "::mlir::func::FuncOp"> {
  let summary = "Tiles that a loop receives are waited for together";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::ditron::gpu::SimtDialect"];
}

def AwaitElements : Pass<"simt-await-elements", "::mlir::func::FuncOp"> {
  let summary = "Loads of self-signaling memory wait for its elements";
  let dependentDialects = ["::ditron::core::TileDialect", "::ditron::gpu::SimtDialect"];
  let options = [TargetOption, WarpsOption];
}

def OrderAccesses : Pass<"simt-order-accesses", "::mlir::func::FuncOp"> {
  let summary = "Has the threads of a CTA meet between accesses of memory that it both reads and writes";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
}

def PipelineLoads : Pass<"simt-pipeline-loads", "::mlir::func::FuncOp"> {
  let summary = "Software pipelining: prefetches the tiles that loops read into shared memory";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::ditron::gpu::SimtDialect"];
  let options = [
    TargetOption,
    Option<"stages", "stages", "int64_t", "0", "Slots of a ring; 0: as many as fit, at most 4">];
}

def JoinReductions : Pass<"simt-join-reductions", "::mlir::func::FuncOp"> {
  let summary = "Warps that combine several tiles meet once for all of them";
  let dependentDialects = ["::ditron::gpu::SimtDialect"];
}

def TilesToThreads : Pass<"simt-tiles-to-threads", "::mlir::ModuleOp"> {
  let summary = "Turns tiles into the vectors of one thread, and memory into accesses of one thread";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
                           "::ditron::gpu::SimtDialect"];
  let options = [TargetOption];
}

def LowerToLLVM : Pass<"simt-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turns what is left into the LLVM dialect, and adds the entry point";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::ditron::gpu::SimtDialect"];
  let options = [TargetOption];
}

#endif
