# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CMake functions of this project: ditron_library, ditron_dialect, ditron_passes, ditron_program
# and ditron_test.

include(TableGen)
include(AddLLVM)
include(AddMLIR)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(DITRON_SANITIZE)
  add_compile_options(-fsanitize=${DITRON_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DITRON_SANITIZE})
endif()

# Everything that includes MLIR links this, and shares its precompiled header.
add_library(ditron-mlir INTERFACE)
target_include_directories(ditron-mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(ditron-mlir INTERFACE ${LLVM_DEFINITIONS_LIST})
if(DITRON_STATIC)
  include(StaticMLIR)
else()
  target_link_libraries(ditron-mlir INTERFACE MLIR LLVM-19)
endif()
target_link_directories(ditron-mlir INTERFACE ${LLVM_LIBRARY_DIR})

set(DITRON_MLIR_PCH ${CMAKE_CURRENT_LIST_DIR}/MlirPrecompiled.h)

# ditron_library(NAME [MLIR] [SOURCES file...] [DEPENDS ditron-library...] [LINK library...])
# One folder, one library: every .cpp of the folder, with the libraries it may include.
function(ditron_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.cpp transforms/*.cpp transport/*.cpp)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND ditron-)
  add_library(ditron-${name} STATIC ${ARG_SOURCES})
  target_include_directories(ditron-${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(ditron-${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINK})
  if(ARG_MLIR)
    target_link_libraries(ditron-${name} PUBLIC ditron-mlir)
    ditron_use_mlir_pch(ditron-${name})
  endif()
endfunction()

# The first MLIR library builds the precompiled header, the others reuse it.
function(ditron_use_mlir_pch target)
  get_property(owner GLOBAL PROPERTY DITRON_PCH_OWNER)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${DITRON_MLIR_PCH})
    set_property(GLOBAL PROPERTY DITRON_PCH_OWNER ${target})
  endif()
endfunction()

# ditron_dialect(LIBRARY DIALECT STEM): generates the C++ of STEM.td of this folder.
function(ditron_dialect library dialect stem)
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR})
  set(LLVM_TARGET_DEFINITIONS ${stem}.td)
  mlir_tablegen(${stem}.h.inc -gen-op-decls)
  mlir_tablegen(${stem}.cpp.inc -gen-op-defs)
  mlir_tablegen(${stem}Dialect.h.inc -gen-dialect-decls -dialect=${dialect})
  mlir_tablegen(${stem}Dialect.cpp.inc -gen-dialect-defs -dialect=${dialect})
  mlir_tablegen(${stem}Types.h.inc -gen-typedef-decls -typedefs-dialect=${dialect})
  mlir_tablegen(${stem}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${dialect})
  mlir_tablegen(${stem}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${dialect})
  mlir_tablegen(${stem}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${dialect})
  mlir_tablegen(${stem}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${stem}Enums.cpp.inc -gen-enum-defs)
  add_public_tablegen_target(ditron-${library}-ops-gen)
  set_property(GLOBAL APPEND PROPERTY DITRON_GENERATED ditron-${library}-ops-gen)
endfunction()

# ditron_passes(LIBRARY): generates the declarations of transforms/Passes.td.
function(ditron_passes library)
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR})
  set(LLVM_TARGET_DEFINITIONS transforms/Passes.td)
  mlir_tablegen(transforms/Passes.h.inc -gen-pass-decls -name ${library})
  add_public_tablegen_target(ditron-${library}-passes-gen)
  set_property(GLOBAL APPEND PROPERTY DITRON_GENERATED ditron-${library}-passes-gen)
endfunction()

# ditron_generated(TARGET): waits for all generated headers.
function(ditron_generated target)
  get_property(generated GLOBAL PROPERTY DITRON_GENERATED)
  if(generated)
    add_dependencies(${target} ${generated})
  endif()
endfunction()

# ditron_test(NAME [SOURCES file...] [DEPENDS ditron-library...] [LINK library...])
# A gtest program of every .cpp of the folder, run by CTest under the folder's name as its label.
function(ditron_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND ditron-)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()
