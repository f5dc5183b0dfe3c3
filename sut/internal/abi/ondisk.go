package abi

// A disk as one execution leaves it and another one finds it is what differs from the machine's: a
// version, and records in the order of a walk that looks at names in their order, and at a
// directory before what is in it. Numbers are those of encoding/binary's Uvarint and, for times,
// Varint; texts are their length, and their bytes.
//
//	record  = DiskGone path | DiskLink path number | DiskFile path file
//	file    = mode uid gid links seconds nanoseconds host [content | target]
//	content = 0 | 1 size {1+block blocks bytes} 0
//
// The number of a link is that of the record of the file, counted from 0. Host is where the machine
// has the file; empty: nowhere. A regular file has content: 0 is what the machine has there. Else
// there are runs of blocks, and zeros between them; the bytes of the last block end with the file.
// A symbolic link has a target.
const (
	DiskVersion = 1
	DiskGone    = 'g'
	DiskLink    = 'l'
	DiskFile    = 'f'
	DiskBlock   = 4096
	MaxFileSize = 16 << 30
	MaxDiskPath = 1 << 16 // names are deeper than what one call can reach
	MaxDiskName = 255
)

// Where in the file of the shared memory the disks are, each after its length in eight bytes,
// little endian: that which executions find, and that which a crash has left.
const (
	DiskFound = 1 << 40
	DiskLeft  = 1 << 41
)
