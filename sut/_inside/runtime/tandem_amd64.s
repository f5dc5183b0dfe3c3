#include "go_asm.h"
#include "textflag.h"

// func tandemSaveContext(context *[4]uint64) int64
//
// Returns 0 after saving where it returns to, and 1 each time that
// tandemRestore jumps back to it.
TEXT ·tandemSaveContext(SB),NOSPLIT|NOFRAME,$0-16
	MOVQ	context+0(FP), AX
	MOVQ	SP, 0(AX)
	MOVQ	BP, 8(AX)
	MOVQ	0(SP), BX
	MOVQ	BX, 16(AX)
	MOVQ	$0, ret+8(FP)
	RET

// func tandemRestore(context *[4]uint64, regions *region, n uint64)
//
// Copies the saved pages back and returns from tandemSaveContext. It uses no
// stack: the stack that it runs on is among the pages.
TEXT ·tandemRestore(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	context+0(FP), R12
	MOVQ	regions+8(FP), R15
	MOVQ	n+16(FP), R13
	CLD
loop:
	TESTQ	R13, R13
	JEQ	done
	MOVQ	0(R15), DI
	MOVQ	8(R15), CX
	SHRQ	$3, CX
	MOVQ	16(R15), SI
	TESTQ	SI, SI
	JEQ	zero
	REP; MOVSQ
	JMP	next
zero:
	XORL	AX, AX
	REP; STOSQ
next:
	ADDQ	$24, R15
	SUBQ	$1, R13
	JMP	loop
done:
	MOVQ	0(R12), SP
	MOVQ	8(R12), BP
	MOVQ	16(R12), BX
	MOVQ	BX, 0(SP)
	MOVQ	$1, 16(SP)
	RET
