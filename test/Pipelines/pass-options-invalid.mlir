// Passes refuse an option that is wrong before they look for what it is about: this module has
// nothing for any of them.

// A chip that is not in the table is an error in each pass that has one.
// RUN: not blockscale-opt --blockscale-branch-on-rows=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-choose-schedules=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-choose-strips=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-decode-product-operands=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-lower-kernels-to-gpu=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-prepack-product-weights=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-raise-products=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-relayout-scales=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not blockscale-opt --blockscale-swizzle-product-scales=chip=sm_90 %s 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected the chip to be one of sm_80, {{.*}}, but got 'sm_90'

// Where none means the CPU, none is no error.
// RUN: blockscale-opt --blockscale-raise-products=chip= --blockscale-relayout-scales=chip= --blockscale-decode-product-operands=chip= %s | FileCheck %s --check-prefix=NONE
// NONE: func.func @nothing
// RUN: not blockscale-opt --blockscale-swizzle-product-scales=chip= %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: expected the chip to be one of sm_80, {{.*}}, but got ''

// Numbers of elements are not negative, and 0 is one.
// RUN: not blockscale-opt --blockscale-fold-constants=max-elements=-1 %s 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not blockscale-opt --blockscale-prepack-product-weights=max-elements=-1 %s 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: expected option 'max-elements' to be at least 0, but got -1
// RUN: blockscale-opt --blockscale-fold-constants=max-elements=0 --blockscale-prepack-product-weights=max-elements=0 %s | FileCheck %s --check-prefix=NONE

// A gain is a factor of times.
// RUN: not blockscale-opt --blockscale-branch-on-rows=gain=0.99 %s 2>&1 | FileCheck %s --check-prefix=GAIN
// RUN: not blockscale-opt --blockscale-branch-on-rows=gain=nan %s 2>&1 | FileCheck %s --check-prefix=GAIN
// RUN: not blockscale-opt --blockscale-branch-on-rows=gain=inf %s 2>&1 | FileCheck %s --check-prefix=GAIN
// GAIN: error: expected option 'gain' to be finite and at least 1, but got
// RUN: blockscale-opt --blockscale-branch-on-rows=gain=1 %s | FileCheck %s --check-prefix=NONE

func.func @nothing() {
  return
}
