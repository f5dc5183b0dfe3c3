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

// func tandemRestore(context *[4]uint64, regions *region, n uint64, copies uintptr)
//
// Puts the saved pages back and returns from tandemSaveContext. The copies are where the regions
// say or, if copies is not 0, there, one after the other. It uses no stack: the
// stack that it runs on is among the pages. Most of what is in them has not changed; that
// is read, which is faster than writing it.
TEXT ·tandemRestore(SB),NOSPLIT|NOFRAME,$0-32
	MOVQ	context+0(FP), R12
	MOVQ	regions+8(FP), R15
	MOVQ	n+16(FP), R13
	MOVQ	copies+24(FP), R10
	MOVBLZX	internal∕cpu·X86+const_offsetX86HasAVX2(SB), R11
	CLD
loop:
	TESTQ	R13, R13
	JEQ	done
	MOVQ	0(R15), DI
	MOVQ	8(R15), CX
	MOVQ	16(R15), SI
	TESTQ	R10, R10
	CMOVQNE	R10, SI
	TESTL	R11, R11
	JEQ	plain
	TESTQ	SI, SI
	JEQ	zeros
lines:
	VMOVDQU	0(SI), Y1
	VMOVDQU	32(SI), Y2
	VPCMPEQB	0(DI), Y1, Y3
	VPCMPEQB	32(DI), Y2, Y4
	VPAND	Y3, Y4, Y3
	VPMOVMSKB	Y3, AX
	CMPL	AX, $-1
	JEQ	same
	VMOVDQU	Y1, 0(DI)
	VMOVDQU	Y2, 32(DI)
same:
	ADDQ	$64, SI
	ADDQ	$64, DI
	SUBQ	$64, CX
	JNE	lines
	JMP	next
zeros:
	VPXOR	Y1, Y1, Y1
zeroLines:
	VMOVDQU	0(DI), Y2
	VPOR	32(DI), Y2, Y2
	VPTEST	Y2, Y2
	JEQ	zero
	VMOVDQU	Y1, 0(DI)
	VMOVDQU	Y1, 32(DI)
zero:
	ADDQ	$64, DI
	SUBQ	$64, CX
	JNE	zeroLines
	JMP	next
plain:
	SHRQ	$3, CX
	TESTQ	SI, SI
	JEQ	plainZeros
	REP; MOVSQ
	JMP	next
plainZeros:
	XORL	AX, AX
	REP; STOSQ
next:
	TESTQ	R10, R10
	CMOVQNE	SI, R10
	ADDQ	$24, R15
	SUBQ	$1, R13
	JMP	loop
done:
	TESTL	R11, R11
	JEQ	back
	VZEROUPPER
back:
	MOVQ	0(R12), SP
	MOVQ	8(R12), BP
	MOVQ	16(R12), BX
	MOVQ	BX, 0(SP)
	MOVQ	$1, 16(SP)
	RET

// func tandemReturn()
//
// A function has returned to here: its results are in registers, which must not change, and
// R14 is g. The call that it was is the last one whose slot is just above the stack pointer.
TEXT ·tandemReturn(SB),NOSPLIT|NOFRAME,$0-0
	MOVQ	(g_stack+stack_hi)(R14), R13
	SUBQ	SP, R13
	ADDQ	$8, R13
	MOVQ	(g_tandem+tandemG_ncalls)(R14), R12
find:
	SUBQ	$1, R12
	JLT	lost
	MOVQ	R12, R15
	IMULQ	$tandemCall__size, R15
	LEAQ	(g_tandem+tandemG_calls)(R14)(R15*1), R15
	CMPQ	tandemCall_slot(R15), R13
	JNE	find
	MOVQ	R12, (g_tandem+tandemG_ncalls)(R14)
	MOVQ	tandemCall_pc(R15), R12
	JMP	R12
lost:
	CALL	runtime·abort(SB)
	RET
