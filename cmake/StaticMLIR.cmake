# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ditron-mlir-archives: MLIR and LLVM from their archives instead of from the two shared libraries.
#
# Every archive is offered and the linker takes the members that something refers to, so there is no
# list of components to keep. Debian's exported targets cannot be used for it: the MLIR archives name
# the LLVM shared library as a dependency, and LLVMSupport the shared zstd, zlib and z3.

file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
# Tests, the C interface, and what needs libraries that are not on every machine (libedit, libffi,
# libxml2, libcurl): nothing of ditron refers to them.
list(FILTER archives EXCLUDE REGEX
     "Test|CAPI|JitRunner|BOLT|Exegesis|Fuzz|LineEditor|Interpreter\\.a|WindowsManifest|Debuginfod")
if(NOT archives)
  message(FATAL_ERROR "no archives of MLIR and LLVM in ${LLVM_LIBRARY_DIR}: "
                      "install libmlir-19-dev and llvm-19-dev (./dev setup)")
endif()
find_library(DITRON_ZSTD_ARCHIVE libzstd.a REQUIRED)
find_library(DITRON_ZLIB_ARCHIVE libz.a REQUIRED)

list(JOIN archives "," archives_with_commas)
add_library(ditron-mlir-archives INTERFACE)
target_link_libraries(ditron-mlir-archives INTERFACE
  "$<LINK_GROUP:RESCAN,${archives_with_commas}>" ${DITRON_ZSTD_ARCHIVE} ${DITRON_ZLIB_ARCHIVE} ${CMAKE_DL_LIBS} m)
