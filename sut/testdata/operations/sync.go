package main

import "sync"

var (
	mutex     sync.Mutex
	rwMutex   sync.RWMutex
	waitGroup sync.WaitGroup
	once      sync.Once
	syncMap   sync.Map
	pool      = sync.Pool{New: func() any { return new(int) }}
	cond      = sync.NewCond(&mutex)
)

var ofSync = map[string]prepared{
	"sync.NewCond":        just(func() { sync.NewCond(&mutex) }),
	"sync.Cond.Broadcast": just(func() { cond.Broadcast() }),
	"sync.Cond.Signal":    just(func() { cond.Signal() }),
	"sync.Cond.Wait": func() func() {
		mutex.Lock()
		go func() {
			mutex.Lock() // when it waits
			cond.Signal()
			mutex.Unlock()
		}()
		return func() { cond.Wait() }
	},
	"sync.Locker.Lock":   just(func() { sync.Locker(&mutex).Lock() }),
	"sync.Locker.Unlock": func() func() { mutex.Lock(); return func() { sync.Locker(&mutex).Unlock() } },

	"sync.Map.Clear":            just(func() { syncMap.Clear() }),
	"sync.Map.CompareAndDelete": just(func() { syncMap.CompareAndDelete(1, 1) }),
	"sync.Map.CompareAndSwap":   just(func() { syncMap.CompareAndSwap(1, 1, 2) }),
	"sync.Map.Delete":           just(func() { syncMap.Delete(1) }),
	"sync.Map.Load":             just(func() { syncMap.Load(1) }),
	"sync.Map.LoadAndDelete":    just(func() { syncMap.LoadAndDelete(1) }),
	"sync.Map.LoadOrStore":      just(func() { syncMap.LoadOrStore(1, 1) }),
	"sync.Map.Range":            just(func() { syncMap.Range(func(key, value any) bool { return true }) }),
	"sync.Map.Store":            just(func() { syncMap.Store(1, 1) }),
	"sync.Map.Swap":             just(func() { syncMap.Swap(1, 1) }),

	"sync.Mutex.Lock":    just(func() { mutex.Lock() }),
	"sync.Mutex.TryLock": just(func() { mutex.TryLock() }),
	"sync.Mutex.Unlock":  func() func() { mutex.Lock(); return func() { mutex.Unlock() } },

	"sync.Once.Do": just(func() { once.Do(func() {}) }),
	"sync.OnceFunc": func() func() {
		f := sync.OnceFunc(func() {})
		return func() { f() }
	},
	"sync.OnceValue": func() func() {
		f := sync.OnceValue(func() int { return 1 })
		return func() { f() }
	},
	"sync.OnceValues": func() func() {
		f := sync.OnceValues(func() (int, error) { return 1, nil })
		return func() { f() }
	},

	"sync.Pool.Get": just(func() { pool.Get() }),
	"sync.Pool.Put": just(func() { pool.Put(new(int)) }),

	"sync.RWMutex.Lock":     just(func() { rwMutex.Lock() }),
	"sync.RWMutex.RLock":    just(func() { rwMutex.RLock() }),
	"sync.RWMutex.RLocker":  just(func() { rwMutex.RLocker() }),
	"sync.RWMutex.RUnlock":  func() func() { rwMutex.RLock(); return func() { rwMutex.RUnlock() } },
	"sync.RWMutex.TryLock":  just(func() { rwMutex.TryLock() }),
	"sync.RWMutex.TryRLock": just(func() { rwMutex.TryRLock() }),
	"sync.RWMutex.Unlock":   func() func() { rwMutex.Lock(); return func() { rwMutex.Unlock() } },

	"sync.WaitGroup.Add":  just(func() { waitGroup.Add(1) }),
	"sync.WaitGroup.Done": func() func() { waitGroup.Add(1); return func() { waitGroup.Done() } },
	"sync.WaitGroup.Go":   just(func() { waitGroup.Go(func() {}) }),
	"sync.WaitGroup.Wait": just(func() { waitGroup.Wait() }),
}
