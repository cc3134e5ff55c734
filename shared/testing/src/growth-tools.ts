/** Whether the tools of a service take texts of any kind and size in time that grows no faster than those. */
import { type Args, growthOf, LINEAR, type ToolCall } from './growth.ts';
import type { TextOfSize } from './growth-texts.ts';

export interface GrowingTool {
  readonly name: string;
  readonly example: Args | null;
  readonly input: { readonly shape: Args };
}

/** UTF-16 units; twice as much still fits into a body. */
export const SWOLLEN_SIZE = 100_000;

/** One call at any size. */
interface SwollenCall {
  readonly tool: string;
  /** Which of its arguments grows. */
  readonly place: string;
  call(size: number): ToolCall;
}

/** Each tool with its example, in which one text after the other is replaced, or an argument added that it does not have. */
export function* swollenCalls(tools: readonly GrowingTool[], text: TextOfSize): Generator<SwollenCall> {
  for (const { name, example, input } of tools) {
    for (const [place, swollen] of swellings(example ?? {}, Object.keys(input.shape))) {
      yield { tool: name, place, call: (size) => [name, swollen(text(size))] };
    }
  }
}

/** Makes the calls and answers with those for which the work grew too fast. `call` settles also when the call is refused. */
export async function toolsThatGrow(
  tools: readonly GrowingTool[],
  text: TextOfSize,
  call: (tool: string, args: Args) => Promise<unknown>,
): Promise<string[]> {
  const found: string[] = [];
  for (const one of swollenCalls(tools, text)) {
    const { factor } = await growthOf((size) => call(...one.call(size)), SWOLLEN_SIZE);
    if (factor > LINEAR) found.push(`${one.tool}, ${one.place}: ${factor.toFixed(1)}`);
  }
  return found;
}

type Swelling = readonly [place: string, swollen: (text: string) => Args];

/** One for each text in the arguments, which it replaces, and for each of the names that is not among them. */
function swellings(args: Args, names: readonly string[]): Swelling[] {
  const inside = Array.from({ length: textsIn(args) }, (_, place): Swelling => {
    return [`text ${place + 1} of its example`, (text) => withText(args, place, text)];
  });
  const beside = names
    .filter((name) => !Object.hasOwn(args, name))
    .map((name): Swelling => [name, (text) => ({ ...args, [name]: text })]);
  return [...inside, ...beside];
}

function withText(args: Args, place: number, text: string): Args {
  let at = 0;
  const replaced = JSON.stringify(args, (_key, value: unknown) => {
    if (typeof value !== 'string') return value;
    at += 1;
    return at === place + 1 ? text : value;
  });
  return JSON.parse(replaced) as Args;
}

function textsIn(value: unknown): number {
  if (typeof value === 'string') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + textsIn(inner), 0);
}
