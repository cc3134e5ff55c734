/** One run in a fresh engine. Whoever started the thread ends it; it gives the guest no function of the host at all. */
import { parentPort, workerData } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import { letOthersGoFirst } from '@svc/runtime/thread-priority.ts';
import { COMPUTE_LIMITS, type SandboxTask } from './domain/outcome.ts';
import { GUEST } from './guest.ts';

export interface SandboxThread {
  readonly engine: WebAssembly.Module;
  readonly task: SandboxTask;
  /** Lies in every global and environment of the host that the guest must not reach. */
  readonly canary: string;
}

const WASM_PAGE = 65_536;
const FIRST_PAGES = 256;

/** Its types tell of the form for `require`; what is imported here is the variant itself. */
const engineVariant = variant as unknown as QuickJSSyncVariant;

const { engine, task, canary } = workerData as SandboxThread;

/** The engine asks its host for the time and the zone, and seeds its chance with them. Here the clock stands still. */
class StoppedDate extends Date {
  static override now(): number {
    return 0;
  }

  override getTimezoneOffset(): number {
    return 0;
  }
}

function stopClocks(): void {
  Object.assign(globalThis, { Date: StoppedDate });
  Object.defineProperty(globalThis, 'performance', { value: { now: () => 0, timeOrigin: 0 } });
}

async function openContext(): Promise<QuickJSContext> {
  const memory = new WebAssembly.Memory({
    initial: FIRST_PAGES,
    maximum: COMPUTE_LIMITS.memoryWallBytes / WASM_PAGE,
  });
  const quickjs = await newQuickJSWASMModuleFromVariant(
    newVariant(engineVariant, { wasmModule: engine, wasmMemory: memory }),
  );
  const runtime = quickjs.newRuntime({
    memoryLimitBytes: COMPUTE_LIMITS.memoryBytes,
    maxStackSizeBytes: COMPUTE_LIMITS.stackBytes,
  });
  return runtime.newContext();
}

type Outcome =
  | { readonly kind: 'value' | 'thrown'; readonly handle: QuickJSHandle }
  | { readonly kind: 'no function' | 'unsettled' };

function run(context: QuickJSContext, guest: QuickJSHandle): Outcome {
  const source = task.kind === 'call' ? `(${task.source}\n)` : task.code;
  const evaluated = context.evalCode(source, 'code.js', { type: 'global' });
  if (task.kind === 'evaluate') return settle(context, evaluated);
  if (evaluated.error !== undefined || context.typeof(evaluated.value) !== 'function') return { kind: 'no function' };
  const call = context.getProp(guest, 'call');
  const values = context.newString(task.arguments);
  return settle(context, context.callFunction(call, context.undefined, evaluated.value, values));
}

/** A promise stands for what it is settled with. */
function settle(context: QuickJSContext, returned: ReturnType<QuickJSContext['evalCode']>): Outcome {
  if (returned.error !== undefined) return { kind: 'thrown', handle: returned.error };
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error !== undefined) return { kind: 'thrown', handle: jobs.error };
  const promise = context.getPromiseState(returned.value);
  if (promise.type === 'pending') return { kind: 'unsettled' };
  if (promise.type === 'rejected') return { kind: 'thrown', handle: promise.error };
  return { kind: 'value', handle: promise.value };
}

/** What came of it, as JSON that the guest itself wrote: it may throw once more while it does. */
function told(context: QuickJSContext, guest: QuickJSHandle, outcome: Outcome): string {
  if (!('handle' in outcome)) return JSON.stringify({ kind: outcome.kind });
  const text = context.callFunction(
    context.getProp(guest, outcome.kind === 'value' ? 'told' : 'thrown'),
    context.undefined,
    outcome.handle,
  );
  if (text.error === undefined) return context.getString(text.value);
  return outcome.kind === 'value' ? told(context, guest, { kind: 'thrown', handle: text.error }) : '';
}

Object.assign(globalThis, { canary });
letOthersGoFirst();
stopClocks();
const context = await openContext();
const { outputBytes, consoleBytes } = COMPUTE_LIMITS;
const makeGuest = context.unwrapResult(context.evalCode(GUEST, 'guest.js'));
const [output, console] = [context.newNumber(outputBytes), context.newNumber(consoleBytes)];
const guest = context.unwrapResult(context.callFunction(makeGuest, context.undefined, output, console));
parentPort?.postMessage('begins', []);
parentPort?.postMessage({ told: told(context, guest, run(context, guest)) }, []);
