# The project's build functions. Everything links the shared libMLIR and
# libLLVM: mixing them with the static archives registers options and type ids
# twice, so the choice is made here. There are two exceptions: the library of
# tools/standalone links the archives alone, and so does the emulator where it is
# built alone, for which BLOCKSCALE_LLVM names LLVM's support library.
if(NOT BLOCKSCALE_LLVM)
  set(BLOCKSCALE_LLVM LLVM)
endif()

# The project's folder, also where only the emulator is built. Its headers, and
# those that are made in the build; the emulator has others.
get_filename_component(BLOCKSCALE_PROJECT_DIR ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(BLOCKSCALE_INCLUDE_DIRS
  ${BLOCKSCALE_PROJECT_DIR}/include ${PROJECT_BINARY_DIR}/include)

# MLIR's headers dominate compile time; one precompiled header serves every
# library that needs them. It is told apart by its content, not by times, so
# that a compiler cache still hits after a fresh checkout.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(MLIR_FOUND)
  add_library(BlockScalePCH OBJECT ${CMAKE_CURRENT_LIST_DIR}/Precompiled.cpp)
  target_precompile_headers(BlockScalePCH PRIVATE
    ${CMAKE_CURRENT_LIST_DIR}/Precompiled.h)
endif()

# A jumbo build compiles several sources of a target at once, so that each
# header is read once for all of them: a build from nothing takes a fifth of the
# time. A changed source compiles its neighbours again, so it is a choice.
option(BLOCKSCALE_JUMBO "Compile sources of a target in batches" OFF)

# blockscale_set_jumbo(name): in a jumbo build, this target is compiled in
# batches. The names of its sources, those in anonymous namespaces and static
# ones too, must then differ from one another.
function(blockscale_set_jumbo name)
  if(BLOCKSCALE_JUMBO)
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# blockscale_install_library(BlockScaleX): others link it as BlockScale::X, where
# it is built and where it is installed.
function(blockscale_install_library name)
  string(SUBSTRING ${name} 10 -1 short)
  add_library(BlockScale::${short} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
  get_target_property(type ${name} TYPE)
  set(scope PUBLIC)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope}
    "$<BUILD_INTERFACE:${BLOCKSCALE_INCLUDE_DIRS}>"
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT BlockScaleTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# blockscale_add_library(Name SOURCES... [NO_MLIR] [INTERNAL] [DEPENDS ...]
#                        [LINK_LIBS ...])
# One that is INTERNAL is of the tools, and not installed.
function(blockscale_add_library name)
  cmake_parse_arguments(ARG "NO_MLIR;INTERNAL" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  blockscale_set_jumbo(${name})
  set_property(GLOBAL APPEND PROPERTY BLOCKSCALE_ARCHIVES ${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    target_precompile_headers(${name} REUSE_FROM BlockScalePCH)
    target_include_directories(${name} SYSTEM INTERFACE
      ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(NOT ARG_INTERNAL)
    blockscale_install_library(${name})
  endif()
endfunction()

# blockscale_add_tool(name SOURCES... [NO_MLIR] [INTERNAL] [FUNCTION name]
#                     LINK_LIBS ...)
# With FUNCTION the sources define that function of tools/Tools.h instead of
# main, and lie in a library, which tools/standalone links too.
function(blockscale_add_tool name)
  cmake_parse_arguments(ARG "NO_MLIR;INTERNAL" "FUNCTION" "LINK_LIBS" ${ARGN})
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  set(libraries ${ARG_LINK_LIBS})
  if(ARG_FUNCTION)
    set(no_mlir)
    if(ARG_NO_MLIR)
      set(no_mlir NO_MLIR)
    endif()
    blockscale_add_library(BlockScaleTool-${ARG_FUNCTION} ${sources} INTERNAL
      ${no_mlir} LINK_LIBS ${libraries})
    target_include_directories(BlockScaleTool-${ARG_FUNCTION} PRIVATE
      ${BLOCKSCALE_PROJECT_DIR}/tools)
    target_compile_definitions(BlockScaleTool-${ARG_FUNCTION} PRIVATE
      BLOCKSCALE_VERSION="${PROJECT_VERSION}")
    set(LLVM_OPTIONAL_SOURCES ${sources})
    set(sources ${BLOCKSCALE_PROJECT_DIR}/tools/ToolMain.cpp)
    set(libraries BlockScaleTool-${ARG_FUNCTION})
  endif()
  add_llvm_executable(${name} ${sources} DISABLE_LLVM_LINK_LLVM_DYLIB)
  blockscale_set_jumbo(${name})
  target_link_libraries(${name} PRIVATE ${libraries})
  target_compile_definitions(${name} PRIVATE
    BLOCKSCALE_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${ARG_FUNCTION}>:BLOCKSCALE_TOOL=${ARG_FUNCTION}>)
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  set_property(GLOBAL APPEND PROPERTY BLOCKSCALE_TOOLS ${name})
  if(NOT ARG_INTERNAL)
    set_target_properties(${name} PROPERTIES
      INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIR}")
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

# blockscale_add_unittest(name SOURCES... LINK_LIBS ...)
function(blockscale_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  blockscale_set_jumbo(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main)
  # LLVM builds without RTTI-free assumptions differ from GoogleTest's needs:
  # exceptions stay on in test binaries only.
  target_compile_options(${name} PRIVATE -fexceptions)
  target_compile_definitions(${name} PRIVATE
    BLOCKSCALE_TEST_DATA="${BLOCKSCALE_PROJECT_DIR}/test/Data")
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  if(NOT TARGET BlockScaleUnitTests)
    add_custom_target(BlockScaleUnitTests)
  endif()
  add_dependencies(BlockScaleUnitTests ${name})
endfunction()
