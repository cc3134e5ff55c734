/** Brain files as resources: `brain:///<brain>/<file>`, read through the same tools, and so under the same rules, as by any other door. */
import { CallError } from '@svc/contract/codes.ts';
import { RESOURCE_SCHEME, resourcePlace, resourceUri } from '../domain/brain-resources.ts';
import { answeredObject, type RequestMessage } from '../domain/mcp-results.ts';
import { INVALID_PARAMS, McpError } from '../domain/mcp-wire.ts';
import type { CallTool } from '../tool-call.ts';
import type { Asked } from './room.ts';

const PAGE_SIZE = 100;
/** Of the earlier era; the later one has no number for it. */
const RESOURCE_NOT_FOUND = -32_002;

export const RESOURCE_TEMPLATES = `"resourceTemplates":${JSON.stringify([
  {
    uriTemplate: `${RESOURCE_SCHEME}{brain}/{+file}`,
    name: 'brain-file',
    title: 'A file of a brain',
    description: 'The text of a file as it is now; brain_list_files tells which there are.',
  },
])}`;

interface Listed {
  readonly brain: string;
  readonly files: readonly { readonly file: string; readonly bytes: number; readonly hash: string | null }[];
  readonly nextCursor?: string;
}

/** The members of a result: the served files of the caller's current brain, page by page. Throws CallError, McpError. */
export async function listResources(call: CallTool, asked: Asked): Promise<string> {
  const { cursor } = asked.message.params;
  if (cursor !== undefined && typeof cursor !== 'string')
    throw new McpError(INVALID_PARAMS, 'cursor must be a string.');
  const args = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
  const { brain, files, nextCursor } = (await read(call, asked, 'brain_list_files', args)) as unknown as Listed;
  const resources = files.flatMap(({ file, bytes, hash }) =>
    hash === null ? [] : [{ uri: resourceUri(brain, file), name: file, size: bytes, mimeType: mimeTypeOf(file) }],
  );
  return `"resources":${JSON.stringify(resources)}${nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`}`;
}

/** The members of a result. A file that may not be read answers like one that is not there. Throws CallError, McpError. */
export async function readResource(call: CallTool, asked: Asked): Promise<string> {
  const { uri } = asked.message.params;
  const place = typeof uri === 'string' ? resourcePlace(uri) : null;
  if (typeof uri !== 'string' || place === null)
    throw new McpError(INVALID_PARAMS, `uri must look like ${RESOURCE_SCHEME}<brain>/notes/a.md.`);
  const { file, content } = await read(call, asked, 'brain_read', { ...place }, uri);
  return `"contents":${JSON.stringify([{ uri, mimeType: mimeTypeOf(String(file)), text: content }])}`;
}

async function read(
  call: CallTool,
  { message, ...calling }: Asked,
  name: string,
  args: Record<string, unknown>,
  uri?: string,
): Promise<Record<string, unknown>> {
  const { body, card, refusal } = await call({ name, args, metaKey: undefined }, calling).catch((error: unknown) => {
    if (!(error instanceof CallError) || !ABSENT.has(error.code)) throw error;
    throw absent(message, error.message, uri);
  });
  const answer = JSON.parse(answeredObject(body, card, refusal)) as Record<string, unknown>;
  if (refusal !== null) throw absent(message, String(answer['error']), uri);
  return answer;
}

/** Of a place that cannot be read: there is none, or none for this caller. */
const ABSENT: ReadonlySet<string> = new Set([
  'BRAIN_LOAD_FAIL',
  'VAF_PATH_BLOCKED',
  'VAF_INPUT_INVALID',
  'RLS_DENIED',
  'FORBIDDEN',
]);

function absent({ era }: RequestMessage, text: string, uri: string | undefined): McpError {
  return new McpError(era === 'modern' ? INVALID_PARAMS : RESOURCE_NOT_FOUND, text, uri === undefined ? {} : { uri });
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

function mimeTypeOf(file: string): string {
  return MIME_TYPES[/\.([a-z]+)$/.exec(file)?.[1] ?? ''] ?? 'text/plain';
}
