package main

import (
	"sync/atomic"
	"unsafe"
)

var (
	plainInt32    int32
	plainInt64    int64
	plainUint32   uint32
	plainUint64   uint64
	plainUintptr  uintptr
	plainPointer  unsafe.Pointer
	atomicInt32   atomic.Int32
	atomicInt64   atomic.Int64
	atomicUint32  atomic.Uint32
	atomicUint64  atomic.Uint64
	atomicUintptr atomic.Uintptr
	atomicBool    atomic.Bool
	atomicValue   atomic.Value
	atomicPointer atomic.Pointer[int]
)

var ofAtomic = map[string]prepared{
	"sync/atomic.AddInt32":               just(func() { atomic.AddInt32(&plainInt32, 1) }),
	"sync/atomic.AddInt64":               just(func() { atomic.AddInt64(&plainInt64, 1) }),
	"sync/atomic.AddUint32":              just(func() { atomic.AddUint32(&plainUint32, 1) }),
	"sync/atomic.AddUint64":              just(func() { atomic.AddUint64(&plainUint64, 1) }),
	"sync/atomic.AddUintptr":             just(func() { atomic.AddUintptr(&plainUintptr, 1) }),
	"sync/atomic.AndInt32":               just(func() { atomic.AndInt32(&plainInt32, 1) }),
	"sync/atomic.AndInt64":               just(func() { atomic.AndInt64(&plainInt64, 1) }),
	"sync/atomic.AndUint32":              just(func() { atomic.AndUint32(&plainUint32, 1) }),
	"sync/atomic.AndUint64":              just(func() { atomic.AndUint64(&plainUint64, 1) }),
	"sync/atomic.AndUintptr":             just(func() { atomic.AndUintptr(&plainUintptr, 1) }),
	"sync/atomic.Bool.CompareAndSwap":    just(func() { atomicBool.CompareAndSwap(false, true) }),
	"sync/atomic.Bool.Load":              just(func() { atomicBool.Load() }),
	"sync/atomic.Bool.Store":             just(func() { atomicBool.Store(true) }),
	"sync/atomic.Bool.Swap":              just(func() { atomicBool.Swap(true) }),
	"sync/atomic.CompareAndSwapInt32":    just(func() { atomic.CompareAndSwapInt32(&plainInt32, 0, 1) }),
	"sync/atomic.CompareAndSwapInt64":    just(func() { atomic.CompareAndSwapInt64(&plainInt64, 0, 1) }),
	"sync/atomic.CompareAndSwapPointer":  just(func() { atomic.CompareAndSwapPointer(&plainPointer, nil, nil) }),
	"sync/atomic.CompareAndSwapUint32":   just(func() { atomic.CompareAndSwapUint32(&plainUint32, 0, 1) }),
	"sync/atomic.CompareAndSwapUint64":   just(func() { atomic.CompareAndSwapUint64(&plainUint64, 0, 1) }),
	"sync/atomic.CompareAndSwapUintptr":  just(func() { atomic.CompareAndSwapUintptr(&plainUintptr, 0, 1) }),
	"sync/atomic.Int32.Add":              just(func() { atomicInt32.Add(1) }),
	"sync/atomic.Int32.And":              just(func() { atomicInt32.And(1) }),
	"sync/atomic.Int32.CompareAndSwap":   just(func() { atomicInt32.CompareAndSwap(0, 1) }),
	"sync/atomic.Int32.Load":             just(func() { atomicInt32.Load() }),
	"sync/atomic.Int32.Or":               just(func() { atomicInt32.Or(1) }),
	"sync/atomic.Int32.Store":            just(func() { atomicInt32.Store(1) }),
	"sync/atomic.Int32.Swap":             just(func() { atomicInt32.Swap(1) }),
	"sync/atomic.Int64.Add":              just(func() { atomicInt64.Add(1) }),
	"sync/atomic.Int64.And":              just(func() { atomicInt64.And(1) }),
	"sync/atomic.Int64.CompareAndSwap":   just(func() { atomicInt64.CompareAndSwap(0, 1) }),
	"sync/atomic.Int64.Load":             just(func() { atomicInt64.Load() }),
	"sync/atomic.Int64.Or":               just(func() { atomicInt64.Or(1) }),
	"sync/atomic.Int64.Store":            just(func() { atomicInt64.Store(1) }),
	"sync/atomic.Int64.Swap":             just(func() { atomicInt64.Swap(1) }),
	"sync/atomic.LoadInt32":              just(func() { atomic.LoadInt32(&plainInt32) }),
	"sync/atomic.LoadInt64":              just(func() { atomic.LoadInt64(&plainInt64) }),
	"sync/atomic.LoadPointer":            just(func() { atomic.LoadPointer(&plainPointer) }),
	"sync/atomic.LoadUint32":             just(func() { atomic.LoadUint32(&plainUint32) }),
	"sync/atomic.LoadUint64":             just(func() { atomic.LoadUint64(&plainUint64) }),
	"sync/atomic.LoadUintptr":            just(func() { atomic.LoadUintptr(&plainUintptr) }),
	"sync/atomic.OrInt32":                just(func() { atomic.OrInt32(&plainInt32, 1) }),
	"sync/atomic.OrInt64":                just(func() { atomic.OrInt64(&plainInt64, 1) }),
	"sync/atomic.OrUint32":               just(func() { atomic.OrUint32(&plainUint32, 1) }),
	"sync/atomic.OrUint64":               just(func() { atomic.OrUint64(&plainUint64, 1) }),
	"sync/atomic.OrUintptr":              just(func() { atomic.OrUintptr(&plainUintptr, 1) }),
	"sync/atomic.Pointer.CompareAndSwap": just(func() { atomicPointer.CompareAndSwap(nil, nil) }),
	"sync/atomic.Pointer.Load":           just(func() { atomicPointer.Load() }),
	"sync/atomic.Pointer.Store":          just(func() { atomicPointer.Store(nil) }),
	"sync/atomic.Pointer.Swap":           just(func() { atomicPointer.Swap(nil) }),
	"sync/atomic.StoreInt32":             just(func() { atomic.StoreInt32(&plainInt32, 1) }),
	"sync/atomic.StoreInt64":             just(func() { atomic.StoreInt64(&plainInt64, 1) }),
	"sync/atomic.StorePointer":           just(func() { atomic.StorePointer(&plainPointer, nil) }),
	"sync/atomic.StoreUint32":            just(func() { atomic.StoreUint32(&plainUint32, 1) }),
	"sync/atomic.StoreUint64":            just(func() { atomic.StoreUint64(&plainUint64, 1) }),
	"sync/atomic.StoreUintptr":           just(func() { atomic.StoreUintptr(&plainUintptr, 1) }),
	"sync/atomic.SwapInt32":              just(func() { atomic.SwapInt32(&plainInt32, 1) }),
	"sync/atomic.SwapInt64":              just(func() { atomic.SwapInt64(&plainInt64, 1) }),
	"sync/atomic.SwapPointer":            just(func() { atomic.SwapPointer(&plainPointer, nil) }),
	"sync/atomic.SwapUint32":             just(func() { atomic.SwapUint32(&plainUint32, 1) }),
	"sync/atomic.SwapUint64":             just(func() { atomic.SwapUint64(&plainUint64, 1) }),
	"sync/atomic.SwapUintptr":            just(func() { atomic.SwapUintptr(&plainUintptr, 1) }),
	"sync/atomic.Uint32.Add":             just(func() { atomicUint32.Add(1) }),
	"sync/atomic.Uint32.And":             just(func() { atomicUint32.And(1) }),
	"sync/atomic.Uint32.CompareAndSwap":  just(func() { atomicUint32.CompareAndSwap(0, 1) }),
	"sync/atomic.Uint32.Load":            just(func() { atomicUint32.Load() }),
	"sync/atomic.Uint32.Or":              just(func() { atomicUint32.Or(1) }),
	"sync/atomic.Uint32.Store":           just(func() { atomicUint32.Store(1) }),
	"sync/atomic.Uint32.Swap":            just(func() { atomicUint32.Swap(1) }),
	"sync/atomic.Uint64.Add":             just(func() { atomicUint64.Add(1) }),
	"sync/atomic.Uint64.And":             just(func() { atomicUint64.And(1) }),
	"sync/atomic.Uint64.CompareAndSwap":  just(func() { atomicUint64.CompareAndSwap(0, 1) }),
	"sync/atomic.Uint64.Load":            just(func() { atomicUint64.Load() }),
	"sync/atomic.Uint64.Or":              just(func() { atomicUint64.Or(1) }),
	"sync/atomic.Uint64.Store":           just(func() { atomicUint64.Store(1) }),
	"sync/atomic.Uint64.Swap":            just(func() { atomicUint64.Swap(1) }),
	"sync/atomic.Uintptr.Add":            just(func() { atomicUintptr.Add(1) }),
	"sync/atomic.Uintptr.And":            just(func() { atomicUintptr.And(1) }),
	"sync/atomic.Uintptr.CompareAndSwap": just(func() { atomicUintptr.CompareAndSwap(0, 1) }),
	"sync/atomic.Uintptr.Load":           just(func() { atomicUintptr.Load() }),
	"sync/atomic.Uintptr.Or":             just(func() { atomicUintptr.Or(1) }),
	"sync/atomic.Uintptr.Store":          just(func() { atomicUintptr.Store(1) }),
	"sync/atomic.Uintptr.Swap":           just(func() { atomicUintptr.Swap(1) }),
	"sync/atomic.Value.CompareAndSwap":   func() func() { atomicValue.Store(0); return func() { atomicValue.CompareAndSwap(0, 1) } },
	"sync/atomic.Value.Load":             just(func() { atomicValue.Load() }),
	"sync/atomic.Value.Store":            just(func() { atomicValue.Store(1) }),
	"sync/atomic.Value.Swap":             just(func() { atomicValue.Swap(1) }),
}
