// RUN: blockscale-opt %s -blockscale-parallelize-calls -verify-diagnostics -split-input-file

// An indirect call has no name to make a range function for.
llvm.func @indirect(%callee: !llvm.ptr, %n: i64) {
  // expected-error @below {{expected a blockscale.parallel call to be in an llvm.func, to name a callee}}
  llvm.call %callee(%n, %n) {blockscale.parallel} : !llvm.ptr, (i64, i64) -> ()
  llvm.return
}

// -----

// Begin and end are the last two arguments.
llvm.func @kernel(f32, i64)
llvm.func @no_range(%f: f32, %n: i64) {
  // expected-error @below {{to end with i64 begin and end}}
  llvm.call @kernel(%f, %n) {blockscale.parallel} : (f32, i64) -> ()
  llvm.return
}

// -----

// Ranges run on several threads, so that there is no one result.
llvm.func @kernel(i64, i64) -> i64
llvm.func @result(%n: i64) {
  // expected-error @below {{to name a callee without results}}
  %0 = llvm.call @kernel(%n, %n) {blockscale.parallel} : (i64, i64) -> i64
  llvm.return
}

// -----

// The context needs the stack of an llvm.func.
llvm.func @kernel(i64, i64)
func.func @not_lowered(%n: i64) {
  // expected-error @below {{to be in an llvm.func}}
  llvm.call @kernel(%n, %n) {blockscale.parallel} : (i64, i64) -> ()
  return
}

// -----

// The runtime's name is taken.
// expected-error @below {{expected the name blockscale_parallel_for to be the runtime's, of type '!llvm.func<void (i64, ptr, ptr)>'}}
llvm.func @blockscale_parallel_for(f32)
llvm.func @kernel(i64, i64)
llvm.func @call(%n: i64) {
  llvm.call @kernel(%n, %n) {blockscale.parallel} : (i64, i64) -> ()
  llvm.return
}
