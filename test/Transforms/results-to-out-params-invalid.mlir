// RUN: blockscale-opt %s -blockscale-results-to-out-params -verify-diagnostics -split-input-file

// A buffer needs a shape.
// expected-error @below {{expected ranked tensor or scalar results of a public function, but got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// Results are stored in one place.
// expected-error @below {{expected a public function with results to have one block, but got more}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^exit
^exit:
  return %x : tensor<4xf32>
}

// -----

// The name of the sizes is taken.
// expected-note @below {{see existing symbol definition here}}
func.func private @f__result_sizes()
// expected-error @below {{redefinition of symbol named 'f__result_sizes'}}
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
