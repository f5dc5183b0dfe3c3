// Command things runs goroutines that share timers, contexts, files and maps. Each argument is what one goroutine
// does: operations, which are a letter and a number, separated by spaces.
//
// Each goroutine prints what it observes, a line at a time, after its number.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	timers   [2]*time.Timer
	contexts [2]context.Context
	cancels  [2]context.CancelFunc
	fired    atomic.Int32
	table    sync.Map
	files    [2]*os.File
	names    = [2]string{"/tmp/tandem-things-0", "/tmp/tandem-things-1"}
)

func main() {
	for i := range 2 {
		timers[i] = time.NewTimer(time.Hour)
		timers[i].Stop()
		f, err := os.OpenFile(names[i], os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			panic(err)
		}
		files[i] = f
	}
	contexts[0], cancels[0] = context.WithCancel(context.Background())
	contexts[1], cancels[1] = context.WithTimeout(contexts[0], 2*time.Millisecond)
	var all sync.WaitGroup
	for number, text := range os.Args[1:] {
		all.Go(func() {
			for _, operation := range strings.Fields(text) {
				if saw := do(operation[0], int(operation[1]-'0'), number); saw != "" {
					fmt.Printf("%d %s:%s\n", number, operation, saw)
				}
			}
		})
	}
	all.Wait()
}

// do performs an operation on thing i, and returns what the goroutine has seen.
func do(operation byte, i, goroutine int) string {
	if saw, ok := onTime(operation, i); ok {
		return saw
	}
	if saw, ok := onFiles(operation, i, goroutine); ok {
		return saw
	}
	return onTable(operation, i, goroutine)
}

func onTime(operation byte, i int) (saw string, ok bool) {
	switch operation {
	case 'r':
		return fmt.Sprint(timers[i].Reset(time.Duration(1+i) * time.Millisecond)), true
	case 's':
		return fmt.Sprint(timers[i].Stop()), true
	case 'p':
		select {
		case <-timers[i].C:
			return "due", true
		default:
			return "not due", true
		}
	case 'w':
		select {
		case <-timers[i].C:
			return "due", true
		case <-contexts[1].Done():
			return "over", true
		}
	case 'z':
		time.Sleep(time.Duration(1+i) * time.Millisecond)
	case 'f':
		time.AfterFunc(time.Duration(1+i)*time.Millisecond, func() { fired.Add(1) })
	case 'l':
		return fmt.Sprint(fired.Load()), true
	case 'a':
		return fmt.Sprint(fired.Add(1)), true
	case 'c':
		cancels[i]()
	case 'd':
		<-contexts[1].Done()
		return fmt.Sprint(contexts[1].Err()), true
	case 'e':
		return fmt.Sprint(contexts[i].Err()), true
	default:
		return "", false
	}
	return "", true
}

func onFiles(operation byte, i, goroutine int) (saw string, ok bool) {
	switch operation {
	case 'W':
		_, err := files[i].WriteAt([]byte{byte('a' + goroutine)}, int64(i))
		return failure(err), true
	case 'A':
		_, err := files[i].Write([]byte{byte('a' + goroutine)})
		return failure(err), true
	case 'N':
		n := fired.Add(1)
		_, err := files[i].Write([]byte{byte('0' + n)})
		return failure(err), true
	case 'R':
		content, err := os.ReadFile(names[i])
		return fmt.Sprintf("%q %v", content, err != nil), true
	case 'T':
		return failure(files[i].Truncate(int64(i))), true
	case 'M':
		return failure(os.Rename(names[i], names[1-i])), true
	case 'U':
		return failure(os.Remove(names[i])), true
	case 'S':
		info, err := os.Stat(names[i])
		if err != nil {
			return "none", true
		}
		return fmt.Sprint(info.Size()), true
	case 'X':
		f, err := os.OpenFile(names[i], os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
		}
		return fmt.Sprint(err == nil), true
	case 'C':
		return failure(files[i].Close()), true
	}
	return "", false
}

func failure(err error) string { return fmt.Sprint(err != nil) }

func onTable(operation byte, i, goroutine int) string {
	switch operation {
	case 'm':
		table.Store(i, goroutine)
	case 'g':
		return fmt.Sprint(table.Load(i))
	case 'q':
		return fmt.Sprint(table.LoadOrStore(i, goroutine))
	case 'D':
		return fmt.Sprint(table.LoadAndDelete(i))
	case 'n':
		return fmt.Sprint(table.CompareAndSwap(i, 1-goroutine, goroutine))
	case 'k':
		saw := []bool{false, false}
		table.Range(func(key, _ any) bool { saw[key.(int)] = true; return true })
		return fmt.Sprint(saw)
	default:
		panic("there is no operation " + string(operation))
	}
	return ""
}
