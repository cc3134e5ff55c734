/** What the compiler knows of each tool. */
import type { CallErrorCode } from './generated/codes.ts';
import type { Tools } from './generated/tools.ts';

export type ToolName = keyof Tools;

export type Arguments<Tool extends ToolName> = Tools[Tool]['arguments'];
export type Result<Tool extends ToolName> = Tools[Tool]['result'];
/** Codes by which the tool may refuse. */
export type RefusalOf<Tool extends ToolName> = Tools[Tool]['refusals'];
/** Beside the code and the sentence; what leads every refusal of the tool, and details that depend on the code. */
export type RefusalData<Tool extends ToolName> = Tools[Tool]['dress'] & Readonly<Record<string, unknown>>;

export type { CallErrorCode };

/** Arguments may be left out where none is required. */
export type CallParameters<Tool extends ToolName, Options> = string extends keyof Arguments<Tool>
  ? [args?: Arguments<Tool>, options?: Options]
  : Partial<Arguments<Tool>> extends Arguments<Tool>
    ? [args?: Arguments<Tool>, options?: Options]
    : [args: Arguments<Tool>, options?: Options];
