// RUN: not blockscale-opt %s --blockscale-to-cpu=from=bufferise 2>&1 | FileCheck %s --check-prefix=FROM
// RUN: not blockscale-opt %s --blockscale-to-sm100=to=llvm 2>&1 | FileCheck %s --check-prefix=TO
// RUN: not blockscale-opt %s --pass-pipeline="builtin.module(blockscale-to-cpu{to=nowhere})" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not blockscale-opt %s --blockscale-to-cpu="from=llvm to=bufferize" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not blockscale-opt %s --blockscale-to-cpu=speed=high 2>&1 | FileCheck %s --check-prefix=OPTION

// Stages are named; the message lists the names.
// FROM:     error: expected option 'from' to be one of verify-layout, canonicalize, form-kernels, materialize-storage, bufferize, lower-kernels, llvm, but got 'bufferise'
// TO:       error: expected option 'to' to be one of verify-layout, canonicalize, form-kernels, materialize-storage, bufferize, lower-kernels, but got 'llvm'
// PIPELINE: error: expected option 'to' to be one of {{.*}}, but got 'nowhere'
// ORDER:    error: expected option 'from' to name a stage before 'to', but got 'llvm' and 'bufferize'
// OPTION:   no such option speed
module {}
