/**
 * A filter of system calls for the kernel (classic BPF): what reaches beyond the sandbox, makes the kernel do much for
 * strangers, or takes memory that counts against no limit of a process (System V IPC, memfd), answers EPERM; a call in another
 * calling convention ends the program.
 */
import { arch } from 'node:process';

/** Numbers by architecture; null = there is no such call. */
interface Convention {
  /** As `seccomp_data.arch` has it. */
  readonly audit: number;
  /** From here on numbers belong to another convention of the same architecture; null = there is none. */
  readonly foreignFrom: number | null;
  readonly denied: readonly number[];
  /** Its arguments cannot be judged, and callers have another way. */
  readonly absent: readonly number[];
}

const X64: Convention = {
  audit: 0xc000_003e,
  foreignFrom: 0x4000_0000,
  denied: [
    29, 41, 53, 64, 68, 101, 134, 139, 153, 154, 155, 156, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172,
    173, 174, 175, 176, 177, 178, 179, 180, 205, 206, 212, 216, 227, 237, 238, 239, 246, 248, 249, 250, 256, 272, 279,
    298, 300, 301, 303, 304, 305, 308, 310, 311, 312, 313, 317, 319, 320, 321, 323, 425, 426, 427, 428, 429, 430, 431,
    432, 433, 438, 440, 442, 443, 447,
  ],
  absent: [435],
};

const ARM64: Convention = {
  audit: 0xc000_00b7,
  foreignFrom: null,
  denied: [
    0, 1, 2, 39, 40, 41, 42, 51, 58, 60, 89, 97, 104, 105, 106, 112, 117, 142, 161, 162, 170, 171, 186, 190, 194, 198,
    199, 217, 218, 219, 224, 225, 235, 236, 237, 238, 239, 241, 262, 263, 264, 265, 266, 268, 270, 271, 272, 273, 277,
    279, 280, 282, 294, 425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 447,
  ],
  absent: [435],
};

const CLONE: Readonly<Record<string, number>> = { x64: 56, arm64: 220 };
/** CLONE_NEW* of a first argument: a namespace of its own has more of the kernel in reach. */
const NEW_NAMESPACES = 0x7e02_0000;

const [LOAD, EQUAL, AT_LEAST, ANY_OF, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [KILL, ALLOW, EPERM, ENOSYS] = [0x8000_0000, 0x7fff_0000, 0x0005_0001, 0x0005_0026];
const [NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT] = [0, 4, 16];

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

/** Throws on an architecture that it does not know: then there is no sandbox. */
export function syscallFilter(architecture: string = arch): Buffer {
  const convention = architecture === 'x64' ? X64 : architecture === 'arm64' ? ARM64 : null;
  const clone = CLONE[architecture];
  if (convention === null || clone === undefined) throw new Error(`no filter of system calls for ${architecture}`);
  return encoded([
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [EQUAL, 1, 0, convention.audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER_AT],
    ...(convention.foreignFrom === null
      ? []
      : ([
          [AT_LEAST, 0, 1, convention.foreignFrom],
          [RETURN, 0, 0, KILL],
        ] as const)),
    ...convention.denied.flatMap((number) => answering(number, EPERM)),
    ...convention.absent.flatMap((number) => answering(number, ENOSYS)),
    [EQUAL, 0, 3, clone],
    [LOAD, 0, 0, FIRST_ARGUMENT_AT],
    [ANY_OF, 0, 1, NEW_NAMESPACES],
    [RETURN, 0, 0, EPERM],
    [RETURN, 0, 0, ALLOW],
  ]);
}

function answering(number: number, answer: number): readonly Instruction[] {
  return [
    [EQUAL, 0, 1, number],
    [RETURN, 0, 0, answer],
  ];
}

function encoded(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of instructions.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(whenTrue, at + 2);
    bytes.writeUInt8(whenFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return bytes;
}
