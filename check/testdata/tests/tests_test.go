// Package tests is for the tests of check.Tests.
package tests

import (
	"sync/atomic"
	"testing"
)

func TestMany(t *testing.T) {
	var x atomic.Int32
	for range 3 {
		go x.Add(1)
		go x.Store(2)
	}
}

func TestTable(t *testing.T) {
	var first atomic.Int32
	t.Run("serial", func(t *testing.T) {
		t.Run("fails", func(t *testing.T) { t.Error("no") })
		t.Run("skips", func(t *testing.T) { t.Skip("no") })
	})
	t.Run("dies", func(t *testing.T) { panic("no") })
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := first.Add(1); n == 1 && name != "three" {
				t.Error("must not be the first")
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	t.Run("alone", func(t *testing.T) { select {} })
}
