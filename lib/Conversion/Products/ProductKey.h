//===- ProductKey.h - What a measured schedule is good for ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule that was measured for one product serves all that are like it:
// those with the same kernel and sizes in the same buckets. A size of up to
// 1024 is in the bucket of the next power of two, at least 16, and a larger one
// in that of the next multiple of 1024. Numbers of matrices and groups are in
// the buckets of powers of two. Sizes that are not known have a bucket of their
// own, "any".
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTKEY_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTKEY_H

#include "Product.h"

namespace blockscale::products {

/// The kernel of a product and the buckets of its sizes, in words.
struct ProductKey {
  explicit ProductKey(const Product &product);

  /// The name of the file of its choice: the values with "-" between them, most
  /// with their names, without what few products have and this one has not.
  std::string getName() const;
  /// A dictionary of strings.
  mlir::DictionaryAttr getAttribute(mlir::MLIRContext *context) const;

  struct Field {
    llvm::StringRef name;
    std::string value;
    /// What stands before the value in names, and the value that they leave
    /// out.
    llvm::StringRef label;
    llvm::StringRef usual = "";
  };
  llvm::SmallVector<Field> fields;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTKEY_H
