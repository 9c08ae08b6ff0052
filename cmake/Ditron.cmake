# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CMake functions of this project: ditron_library, ditron_program, ditron_dialect, ditron_passes,
# ditron_generated, ditron_packed, ditron_add_test, ditron_test and ditron_package.

include(TableGen)
include(AddLLVM)
include(AddMLIR)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
# One flag for libraries and programs (not -fPIE for programs), so that both can share the
# precompiled header.
add_compile_options(-fPIC -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
# Paths in messages start at the root of the source tree.
file(RELATIVE_PATH up ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${up}=)

if(DITRON_SANITIZE)
  add_compile_options(-fsanitize=${DITRON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DITRON_SANITIZE})
endif()

if(DITRON_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# ccache: the base directory and the checksum of the precompiled header (see ditron-mlir-pch) let
# one work tree use what another one has compiled.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# ditron-fmt: fmt from an archive.
find_package(fmt REQUIRED)
add_library(ditron-fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/Fmt.cpp)
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
if(fmt_include)
  target_include_directories(ditron-fmt SYSTEM PUBLIC ${fmt_include})
endif()

# ditron-mlir: everything that includes MLIR links this. A program with the property DITRON_ARCHIVES
# gets MLIR and LLVM from their archives, so that it runs anywhere and its empty main starts in 4 ms:
# with the shared libraries that is 15 ms (half a million relocations, and the static objects of
# every LLVM target). Tests use the shared libraries and stay small.
include(StaticMLIR)
add_library(ditron-mlir INTERFACE)
target_include_directories(ditron-mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(ditron-mlir INTERFACE ${llvm_definitions})
set(from_archives $<BOOL:$<TARGET_PROPERTY:DITRON_ARCHIVES>>)
target_link_libraries(ditron-mlir INTERFACE
  $<${from_archives}:ditron-mlir-archives> $<$<NOT:${from_archives}>:MLIR> $<$<NOT:${from_archives}>:LLVM>)

# ditron-mlir-pch: the one precompiled header of the files that include MLIR. What is in it follows
# from the header's text and LLVM's version: that is the checksum that ccache takes for it, as the
# file itself holds absolute paths. The sources name it by a path relative to the build folder (and
# not by REUSE_FROM, which names it by an absolute one), so that work trees share what they compile.
set(pch CMakeFiles/ditron-mlir-pch.dir/cmake_pch.hxx.pch)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/mlir-pch/empty.cpp CONTENT "")
add_library(ditron-mlir-pch OBJECT ${PROJECT_BINARY_DIR}/mlir-pch/empty.cpp)
target_link_libraries(ditron-mlir-pch PRIVATE ditron-mlir)
target_precompile_headers(ditron-mlir-pch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/MlirPrecompiled.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/MlirPrecompiled.h)
file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/MlirPrecompiled.h pch_checksum)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${pch}.sum
     CONTENT "${pch_checksum} ${LLVM_PACKAGE_VERSION}\n")
set(DITRON_PCH OFF)
if(CMAKE_GENERATOR STREQUAL "Ninja" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # As the compiler sees it, which Ninja starts in the build folder of the whole project.
  file(RELATIVE_PATH DITRON_PCH ${CMAKE_BINARY_DIR} ${PROJECT_BINARY_DIR}/${pch})
endif()

# ditron_use_mlir(TARGET SCOPE): the target includes MLIR, links it and uses the precompiled header,
# but for the sources that the folder's CMakeLists.txt gives the property SKIP_PRECOMPILE_HEADERS.
function(ditron_use_mlir target scope)
  target_link_libraries(${target} ${scope} ditron-mlir)
  if(DITRON_PCH)
    add_dependencies(${target} ditron-mlir-pch)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL ditron_precompiled [[${target}]])")
  endif()
endfunction()

# Called at the end of a folder, when the properties of its sources are known.
function(ditron_precompiled target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(skip ${source} SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(NOT skip AND NOT "-include-pch" IN_LIST options)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -include-pch ${DITRON_PCH})
      set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${DITRON_PCH})
    endif()
  endforeach()
endfunction()

# ditron_library(NAME [MLIR] [SOURCES file...] [DEPENDS ditron-library...] [LINK library...])
# One folder, one library: every .cpp of the folder, with the libraries it may include.
function(ditron_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.cpp transforms/*.cpp transport/*.cpp)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND ditron-)
  add_library(ditron-${name} STATIC ${ARG_SOURCES})
  target_include_directories(ditron-${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}> $<INSTALL_INTERFACE:include>)
  target_link_libraries(ditron-${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY DITRON_LIBRARIES ditron-${name})
  if(ARG_MLIR)
    ditron_use_mlir(ditron-${name} PUBLIC)
  endif()
endfunction()

# ditron_program(NAME [MLIR] [SOURCES file...] [DEPENDS ditron-library...] [LINK library...])
# A program of build/bin/ that ./dev dist packs: of the system's libraries it may need libc, libm,
# libstdc++, libz and libzstd, no other. Without SOURCES it is NAME.cpp.
function(ditron_program name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cpp)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND ditron-)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} ${ARG_LINK})
  ditron_packed(${name} bin)
  if(ARG_MLIR)
    ditron_use_mlir(${name} PRIVATE)
  endif()
endfunction()

# ditron_packed(TARGET FOLDER): a program that ./dev dist packs into this folder of the archive.
function(ditron_packed target folder)
  if(NOT DITRON_SANITIZE)
    set_target_properties(${target} PROPERTIES DITRON_ARCHIVES ON)
    target_link_options(${target} PRIVATE -Wl,--gc-sections -static-libstdc++ -static-libgcc)
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${folder})
endfunction()

# ditron_dialect(LIBRARY DIALECT STEM): generates the C++ of STEM.td of this folder.
function(ditron_dialect library dialect stem)
  include_directories(${PROJECT_SOURCE_DIR})
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
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

# ditron_passes(LIBRARY [FOLDER]): generates the declarations of FOLDER/Passes.td (transforms/).
function(ditron_passes library)
  set(folder transforms/)
  if(ARGC GREATER 1)
    set(folder ${ARGV1})
  endif()
  include_directories(${PROJECT_SOURCE_DIR})
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
  set(LLVM_TARGET_DEFINITIONS ${folder}Passes.td)
  mlir_tablegen(${folder}Passes.h.inc -gen-pass-decls)
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

# ditron_add_test(NAME LABEL label [SECONDS seconds] COMMAND command...)
# A test of CTest that takes up to SECONDS on an idle machine (default: 30). Its limit is ten times as
# much, and ten times that with a sanitizer: a busy machine fails no test. One that takes more than
# three minutes is to be split.
function(ditron_add_test name)
  cmake_parse_arguments(ARG "" "LABEL;SECONDS" "COMMAND" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 30)
  endif()
  if(ARG_SECONDS GREATER 180)
    message(FATAL_ERROR "${name} takes ${ARG_SECONDS} s, expected at most 180: split it")
  endif()
  math(EXPR limit "${ARG_SECONDS} * 10")
  if(DITRON_SANITIZE)
    math(EXPR limit "${limit} * 10")
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${limit}
                       FAIL_REGULAR_EXPRESSION "Running 0 tests") # a filter of none
endfunction()

# ditron_test(NAME [MLIR] [SHARDS count] [SECONDS seconds] [ENVIRONMENT variable...]
#             [SOURCES file...] [DEPENDS ditron-library...] [LINK library...])
# A gtest program of every .cpp of the folder, run by CTest under the folder's name as its label: at
# once, or its cases dealt to SHARDS tests that take SECONDS each.
function(ditron_test name)
  cmake_parse_arguments(ARG "MLIR" "SHARDS;SECONDS" "ENVIRONMENT;SOURCES;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND ditron-)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} ${ARG_LINK} GTest::gtest GTest::gtest_main)
  if(ARG_MLIR)
    ditron_use_mlir(${name} PRIVATE)
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  if(NOT ARG_SHARDS)
    ditron_add_test(${name} LABEL ${label} SECONDS ${ARG_SECONDS} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
    return()
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    math(EXPR number "${shard} + 1")
    set(test ${name}-${number}-of-${ARG_SHARDS})
    set(environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${shard} ${ARG_ENVIRONMENT})
    ditron_add_test(${test} LABEL ${label} SECONDS ${ARG_SECONDS} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# ditron_package(): ditron::ditron, what a program of somebody else's links, and the files by which
# find_package(ditron) finds it in this build folder, or where `cmake --install build --component library` puts it.
function(ditron_package)
  add_library(ditron-all INTERFACE)
  add_library(ditron::ditron ALIAS ditron-all)
  target_link_libraries(ditron-all INTERFACE ditron-driver ditron-kernels ditron-profile
                        ditron-checker ditron-tune)
  target_compile_features(ditron-all INTERFACE cxx_std_20)
  set_target_properties(ditron-all PROPERTIES EXPORT_NAME ditron)
  get_property(libraries GLOBAL PROPERTY DITRON_LIBRARIES)
  set(all ditron-all ${libraries} ditron-fmt ditron-mlir ditron-mlir-archives)
  export(TARGETS ${all} NAMESPACE ditron:: FILE ${PROJECT_BINARY_DIR}/ditronTargets.cmake)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ditronConfig.cmake.in
                 ${PROJECT_BINARY_DIR}/ditronConfig.cmake @ONLY)
  set(cmake_files lib/cmake/ditron)
  install(TARGETS ${all} EXPORT ditronTargets ARCHIVE DESTINATION lib COMPONENT library)
  install(EXPORT ditronTargets NAMESPACE ditron:: DESTINATION ${cmake_files} COMPONENT library)
  install(FILES ${PROJECT_BINARY_DIR}/ditronConfig.cmake DESTINATION ${cmake_files} COMPONENT library)
  foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    install(DIRECTORY ${root}/ditron DESTINATION include COMPONENT library
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
  endforeach()
endfunction()
