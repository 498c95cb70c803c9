// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_20}))' -verify-diagnostics

// expected-error @below {{expected the chip to be one of sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a, sm_121a, but got 'sm_20'}}
func.func @unknown_chip() {
  return
}
