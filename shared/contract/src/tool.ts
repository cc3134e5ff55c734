/** How a tool is declared. The declaration is data: lists, schemas, documentation and access all read it. */
import { z } from 'zod';
import type { CallErrorCode, ErrorDetails, RefusalCode, CallError, Refusal } from './codes.ts';
import type { Decision } from './decision.ts';
import type { RegistryStamp, Role, TokenLimits } from './registry.ts';
import type { Subject } from './subject.ts';

/**
 * `identified` = any subject but anonymous, or an operator; `workspace:<role>` = that role or a stronger one in the
 * workspace concerned, read from the registry at the call, or an operator.
 */
export type Access = 'public' | 'identified' | 'operator' | `workspace:${Role}`;
/** `read` and `write-idempotent` calls may be repeated by the gateway; `write` and `external` never are. */
export const EFFECTS = ['read', 'write-idempotent', 'write', 'external'] as const;
export type Effect = (typeof EFFECTS)[number];

/** Whether a call may be sent to another process when the one that had it is lost, or to the same when it has come late there. */
export function isRepeatable(effect: Effect, isKeyed: boolean): boolean {
  return effect === 'read' || effect === 'write-idempotent' || (isKeyed && effect !== 'external');
}

/** Who calls and under which limits, as the door established it. */
export interface Caller {
  readonly subject: Subject;
  /** Never true beside a token. */
  readonly operator: boolean;
  readonly token: TokenLimits | null;
  /** Null when the registry of identities did not answer the gateway; then whoever needs it asks again. */
  readonly registry: RegistryStamp | null;
  readonly principal: string;
  readonly session: string;
  readonly requestId: string;
  readonly deadlineAt: number;
  /** Through how many calls of calls it came; absent = it was made at a door. */
  readonly hops?: number;
}

/** Where the effect of a keyed call is recorded; see the runtime's idempotency module. */
export interface IdempotencyScope {
  /** Whose key it is: the credential owner, and the agent that acts with it where that is another. */
  readonly principal: string;
  readonly tool: string;
  readonly key: string;
  readonly argsHash: string;
}

export interface ToolContext<Deps, Refuses extends RefusalCode, Raises extends CallErrorCode> {
  readonly deps: Deps;
  readonly caller: Caller;
  /** Milliseconds since the epoch when the call arrived. */
  readonly now: number;
  /** The gateway sends it elsewhere as soon as this process shows no sign of life; see `isRepeatable`. */
  readonly repeatable: boolean;
  readonly idempotency: IdempotencyScope | null;
  /** Marks the reply as a stored one; set by the store that found it. */
  markReplayed(): void;
  /** The value of a decision, or its refusal thrown. Codes the tool does not declare do not compile. */
  take<Value>(decision: Decision<Value, Refuses>, shown?: ErrorDetails): Value;
  /** A declared refusal, to be thrown. `details` are shown beside the code. */
  refuse(code: Refuses, details?: ErrorDetails, message?: string): Refusal;
  /** A declared call error, to be thrown. */
  fail(code: Raises, message?: string, details?: ErrorDetails): CallError;
}

/** A second name for an argument, or one value that stands for several arguments. */
export type Alias =
  | string
  | {
      readonly into: readonly string[];
      /** Refused beside an argument it stands for, even when both say the same. */
      readonly alone?: true;
      expand(value: unknown): Record<string, unknown> | null;
    };

/** Object types whose keys the handler's result may not exceed; keeps a misspelt field from compiling. */
type KnownKeys<Union> = Union extends unknown ? keyof Union : never;
type NoExtraKeys<Result, Output> = { readonly [Key in Exclude<KnownKeys<Result>, KnownKeys<Output>>]?: never };

interface ToolDeclaration<
  Deps,
  Input extends z.ZodObject,
  Output extends z.ZodType<Record<string, unknown>>,
  Result extends z.input<Output>,
  Refuses extends RefusalCode,
  Raises extends CallErrorCode,
> {
  readonly name: string;
  readonly area: string;
  /** One sentence; it is what an agent reads when it chooses. */
  readonly description: string;
  readonly input: Input;
  /** The success result. A top-level `content` makes the tool "bare": its object is the reply's `result` itself. */
  readonly output: Output;
  readonly access: Access;
  readonly effect: Effect;
  readonly destructive?: boolean;
  /** A token that only reads may call it too: for such a caller it does no more than for anybody who is nobody. */
  readonly openToReaders?: boolean;
  readonly refuses: readonly Refuses[];
  /** Call errors beyond those that any call can meet. */
  readonly raises?: readonly Raises[];
  /** Fields that lead every refusal, such as `{synced: false}`; null = a refusal is null and nothing else. */
  readonly dress?: Record<string, unknown> | null;
  readonly aliases?: Record<string, Alias>;
  readonly deadlineMs?: number;
  /** Paths of fields of the result that are or hold a secret (`run.result`): whoever stores the result leaves them out. */
  readonly secrets?: readonly string[];
  readonly example?: Record<string, unknown>;
  /** Workspace concerned by `workspace:<role>` access; else the argument `workspaceId` or `workspace`, else the current one. */
  workspaceOf?(input: z.output<Input>, caller: Caller): string;
  handler(
    input: z.output<Input>,
    context: ToolContext<Deps, Refuses, Raises>,
  ): Promise<Result & NoExtraKeys<Result, z.input<Output>>>;
}

/** A declared tool with its types erased, as registries and the dispatcher hold it. */
export interface Tool<Deps> {
  readonly name: string;
  readonly area: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly access: Access;
  readonly effect: Effect;
  readonly destructive: boolean;
  readonly openToReaders: boolean;
  readonly refuses: readonly RefusalCode[];
  readonly raises: readonly CallErrorCode[];
  readonly dress: Record<string, unknown> | null;
  readonly aliases: Record<string, Alias>;
  readonly deadlineMs: number;
  readonly secrets: readonly string[];
  readonly bare: boolean;
  readonly example: Record<string, unknown> | null;
  workspaceOf?(input: never, caller: Caller): string;
  handler(input: never, context: ToolContext<Deps, RefusalCode, CallErrorCode>): Promise<unknown>;
}

export const DEFAULT_DEADLINE_MS = 30_000;
export const MAX_DEADLINE_MS = 120_000;

/** `const defineTool = toolFor<EscrowDeps>()`: fixes the service, infers the rest from the declaration. */
export function toolFor<Deps>() {
  return function defineTool<
    Input extends z.ZodObject,
    Output extends z.ZodType<Record<string, unknown>>,
    Result extends z.input<Output>,
    const Refuses extends RefusalCode = never,
    const Raises extends CallErrorCode = never,
  >(declaration: ToolDeclaration<Deps, Input, Output, Result, Refuses, Raises>): Tool<Deps> {
    return {
      destructive: false,
      openToReaders: false,
      raises: [],
      dress: {},
      aliases: {},
      deadlineMs: DEFAULT_DEADLINE_MS,
      secrets: [],
      example: null,
      ...declaration,
      bare: hasContentField(declaration.output),
      handler: declaration.handler,
    };
  };
}

/** Bareness is read from the declared schema, never from a value. */
function hasContentField(output: z.ZodType): boolean {
  if (output instanceof z.ZodObject) return 'content' in output.shape;
  if (output instanceof z.ZodUnion)
    return output.options.some((option) => option instanceof z.ZodType && hasContentField(option));
  return false;
}

/** A tool as it crosses the bus to the gateways, and as lists and documentation show it. */
export interface ToolCard {
  readonly name: string;
  readonly service: string;
  readonly area: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema: Record<string, unknown>;
  readonly annotations: ToolAnnotations;
  readonly access: Access;
  readonly effect: Effect;
  readonly openToReaders: boolean;
  readonly refusals: readonly string[];
  readonly callErrors: readonly string[];
  readonly bare: boolean;
  readonly deadlineMs: number;
  readonly secrets: readonly string[];
  readonly example: Record<string, unknown> | null;
}

export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly idempotentHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

/** To describe the schemas of a whole service takes tens of milliseconds, and a declared tool never changes. */
const SCHEMAS = new WeakMap<Tool<never>, Pick<ToolCard, 'inputSchema' | 'outputSchema'>>();

function schemasOf(tool: Tool<never>): Pick<ToolCard, 'inputSchema' | 'outputSchema'> {
  const known = SCHEMAS.get(tool);
  if (known !== undefined) return known;
  const schemas = {
    inputSchema: objectSchema(z.toJSONSchema(tool.input, { io: 'input' })),
    outputSchema: objectSchema(z.toJSONSchema(tool.output, { io: 'output' })),
  };
  SCHEMAS.set(tool, schemas);
  return schemas;
}

export function toolCard<Deps>(service: string, tool: Tool<Deps>): ToolCard {
  return {
    name: tool.name,
    service,
    area: tool.area,
    description: tool.description,
    ...schemasOf(tool),
    annotations: {
      readOnlyHint: tool.effect === 'read',
      idempotentHint: tool.effect === 'read' || tool.effect === 'write-idempotent',
      destructiveHint: tool.destructive,
      openWorldHint: tool.effect === 'external',
    },
    access: tool.access,
    effect: tool.effect,
    openToReaders: tool.openToReaders,
    refusals: tool.refuses,
    callErrors: tool.raises,
    bare: tool.bare,
    deadlineMs: tool.deadlineMs,
    secrets: tool.secrets,
    example: tool.example,
  };
}

/** Lists promise an object schema with `required`, also for a tool without arguments. */
function objectSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = schema;
  return { type: 'object', properties: {}, required: [], ...rest };
}
