/**
 * A room for the official conformance runner, at an address of its own: it has what the runner asks of any server, and is
 * spoken to by the same protocol, streams, sessions and tasks as the room of the service.
 */
import { EventEmitter } from 'node:events';
import { isObject } from '../../domain/call-form.ts';
import type { Answered } from '../../domain/mcp-results.ts';
import {
  assertMirrored,
  capabilitiesOf,
  INVALID_PARAMS,
  McpError,
  missingCapability,
  speaksOfTasks,
  TASKS_REQUIRED,
} from '../../domain/mcp-wire.ts';
import { headerText } from '../../header-text.ts';
import { cacheable } from '../caching.ts';
import type { Answering, Asked, Methods, Room } from '../room.ts';
import type { Tasks } from '../tasks.ts';
import { ClientRequests } from './client-requests.ts';
import { CONTENT_TOOLS } from './content-tools.ts';
import { type Fields, type Fixture, type FixtureCall, inputsIn, NO_ARGUMENTS, type TaskFixture } from './fixture.ts';
import { INPUT_TOOLS } from './input-tools.ts';
import { complete, getPrompt, LISTED_PROMPTS } from './prompts.ts';
import { LISTED_RESOURCES, readFixture, SCHEME, TEMPLATES } from './resources.ts';
import { StateSeal } from './sealed-state.ts';
import { TALKING_TOOLS } from './talking-tools.ts';
import { TASK_TOOLS } from './task-tools.ts';

const TOOLS: readonly (Fixture | TaskFixture)[] = [...CONTENT_TOOLS, ...TALKING_TOOLS, ...INPUT_TOOLS, ...TASK_TOOLS];
const LISTED_TOOLS = TOOLS.map(({ name, description, inputSchema = NO_ARGUMENTS }) => ({
  name,
  description,
  inputSchema,
}));
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  completions: {},
};
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const LIST_TTL_MS = 60_000;

interface Parts {
  readonly tasks: Pick<Tasks, 'newId' | 'start'>;
  readonly changes: EventEmitter;
  readonly requests: ClientRequests;
  readonly seal: StateSeal;
}

export function createConformanceRoom(tasks: Parts['tasks']): Room {
  const parts = {
    tasks,
    changes: new EventEmitter().setMaxListeners(0),
    requests: new ClientRequests(),
    seal: new StateSeal(),
  };
  const listening = (list: string) => (listener: () => void) => {
    parts.changes.on(list, listener);
    return () => void parts.changes.off(list, listener);
  };
  const methods: Methods = {
    'tools/list': listed('tools', LISTED_TOOLS),
    'tools/call': (asked) => callFixture(parts, asked),
    'prompts/list': listed('prompts', LISTED_PROMPTS),
    'prompts/get': async (asked) => answered(getPrompt(asked.message.params, callOf(parts, asked))),
    'resources/list': listed('resources', LISTED_RESOURCES),
    'resources/templates/list': listed('resourceTemplates', TEMPLATES),
    'resources/read': async (asked) => cacheable(asked, membersOf(readFixture(asked.message.params)), 0, 'private'),
    'completion/complete': async ({ message }) => ({ members: membersOf(complete(message.params)) }),
  };
  return {
    instructions: 'Fixtures of the conformance runner.',
    capabilities: { modern: CAPABILITIES, legacy: { ...CAPABILITIES, logging: {} } },
    methods: {
      modern: methods,
      legacy: { ...methods, 'logging/setLevel': async () => ({ members: '' }) },
    },
    lists: { tools: listening('tools'), prompts: listening('prompts') },
    isResource: (uri) => uri.startsWith(SCHEME),
    takeReply: (calling, reply) => parts.requests.take(calling, reply),
  };
}

function listed(name: string, things: readonly Fields[]): Answering {
  const members = membersOf({ [name]: things });
  return async (asked) => cacheable(asked, members, LIST_TTL_MS, 'public');
}

function membersOf(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

function answered(answer: object): Answered {
  const members = membersOf(answer);
  return 'inputRequests' in answer ? { members, type: 'input_required' } : { members };
}

function callOf({ changes, requests, seal }: Parts, asked: Asked): FixtureCall {
  const { message, visit, tell } = asked;
  const { params } = message;
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const scope = `${visit.identity.principal}\n${String(params['name'])}`;
  return {
    era: message.era,
    capabilities: capabilitiesOf(message),
    progressToken: meta['progressToken'],
    wantsLog: message.era === 'legacy' || meta[LOG_LEVEL] !== undefined,
    inputs: inputsIn(params),
    state: () => (params['requestState'] === undefined ? null : seal.open(scope, params['requestState'])),
    seal: (text) => seal.seal(scope, text),
    notify: (method, notice) => tell({ jsonrpc: '2.0', method, params: notice }),
    request: (method, question) => requests.ask(asked, method, question),
    changed: (list) => void changes.emit(list),
  };
}

async function callFixture(parts: Parts, asked: Asked): Promise<Answered> {
  const { name, arguments: args = {} } = asked.message.params;
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new McpError(INVALID_PARAMS, 'There is no such tool.');
  if (!isObject(args)) throw new McpError(INVALID_PARAMS, 'params.arguments must be an object.');
  assertHeaders(tool, args, asked);
  const call = callOf(parts, asked);
  if ('run' in tool) return answered(await tool.run(args, call));
  return callTaskFixture(parts, tool, args, call, asked);
}

/** Arguments that a schema wants in a header too stand there as they stand in the body. */
function assertHeaders({ inputSchema }: Fixture | TaskFixture, args: Fields, { message, exchange }: Asked): void {
  if (message.era === 'legacy' || !isObject(inputSchema?.['properties'])) return;
  for (const [name, property] of Object.entries(inputSchema['properties'])) {
    const header = isObject(property) ? property['x-mcp-header'] : undefined;
    const value = args[name];
    if (typeof header !== 'string' || value === undefined || value === null) continue;
    const given = headerText(exchange.request.headers, `mcp-param-${header.toLowerCase()}`);
    assertMirrored(`Mcp-Param-${header}`, given, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

async function callTaskFixture(
  { tasks }: Parts,
  tool: TaskFixture,
  args: Fields,
  call: FixtureCall,
  { message, visit, exchange }: Asked,
): Promise<Answered> {
  if (!speaksOfTasks(message)) {
    if (tool.isTaskRequired) throw missingCapability(TASKS_REQUIRED);
    return answered(await tool.work(args, call, null));
  }
  const asking = tool.before?.(call) ?? null;
  if (asking !== null) return answered(asking);
  const { sessionOwner, bucket } = visit.identity;
  const started = await tasks.start({
    id: tasks.newId(),
    principal: sessionOwner,
    owner: bucket,
    requestId: exchange.requestId,
    call: null,
    work: async (control) => answered(await tool.work(args, call, control)),
  });
  if (started === null) throw new McpError(INVALID_PARAMS, 'There are too many tasks.');
  return started;
}
