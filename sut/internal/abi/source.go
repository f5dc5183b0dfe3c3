package abi

import (
	"embed"
	"unsafe"
)

// Files are the files of this package that the program under test is compiled with.
//
//go:embed shared.go wire.go guide.go environment.go detail.go place.go ondisk.go
var Files embed.FS

// Logs are compared record by record, as plain memory, and deliveries are written field by field:
// neither has room between its fields.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Record{})-40]
	_ = [1]struct{}{}[unsafe.Sizeof(DeliveryHeader{})-16]
	_ = [1]struct{}{}[unsafe.Sizeof(Region{})-24]
)

// The kinds of records, operations and outcomes, and the alternatives of a signal, fit into their
// fields.
var (
	_ = uint8(RecordKinds)
	_ = uint8(OpCount)
	_ = uint8(AccessCommute)
)
