package runtime

// tandemHeap is by how much the heap has grown in this execution.
var tandemHeap uint64

// tandemHeapGrows ends an execution that needs more memory than it may have:
// garbage is not collected.
func tandemHeapGrows(pages uintptr) {
	if !tandem.on {
		return
	}
	tandemHeap += uint64(pages) * pageSize
	if tandemHeap > tandem.sh.environment.memoryBytes {
		tandemCutOff("one execution needs more memory than it may have (memory_mib in the configuration " +
			"allows more)")
	}
}
