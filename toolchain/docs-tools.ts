/** docs/tools.md: every tool from its declaration. */
import { DEFAULT_DEADLINE_MS, type Alias, type Tool, toolCard } from '../shared/contract/src/tool.ts';
import { code, codes, GENERATED, json, page, prose, table } from './markdown.ts';
import { type Field, fieldsOf, formsOf, type JsonSchema } from './schema-text.ts';

/** The part of a declaration that documentation reads; its handler's dependencies do not matter here. */
type DocumentedTool = Tool<never>;

export interface ServiceTools {
  readonly service: string;
  readonly tools: readonly DocumentedTool[];
}

export function toolsPage(services: readonly ServiceTools[]): string {
  return page(
    '# Tools',
    GENERATED,
    [
      'Call a tool with `POST /call` and the body',
      '`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": <tool>, "arguments": {…}}}`.',
      'The answer is in `result.content`; a *bare* tool puts its fields directly in `result`.',
      'A refusal is answered in `result.content` as `{error, code}`, with HTTP 200; [errors.md](errors.md) explains every code.',
    ].join('\n'),
    [
      '- **Access**: `public` = anybody who passes the door; `identified` = anybody but anonymous; `operator` = the holder of the API key;',
      '  `workspace:<role>` = that role in the workspace concerned. Operators pass every one.',
      '- **Effect**: `read` and `write-idempotent` may be repeated freely; repeat `write` and `external` with the same `Idempotency-Key`.',
    ].join('\n'),
    ...services.map(contents),
    ...services.flatMap(serviceBlocks),
  );
}

function areasOf({ tools }: ServiceTools): [string, DocumentedTool[]][] {
  return [...Map.groupBy(tools, ({ area }) => area)]
    .map(([area, members]): [string, DocumentedTool[]] => [
      area,
      members.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function contents(service: ServiceTools): string {
  const rows = areasOf(service).map(([area, tools]) => [
    area,
    tools.map(({ name }) => `[${name}](#${name.toLowerCase()})`).join(' · '),
  ]);
  return rows.length === 0 ? '' : table([`Area of ${service.service}`, 'Tools'], rows);
}

function serviceBlocks(service: ServiceTools): string[] {
  return areasOf(service).flatMap(([area, tools]) => [
    `## ${service.service}: ${area}`,
    ...tools.flatMap((tool) => toolBlocks(service.service, tool)),
  ]);
}

function toolBlocks(service: string, tool: DocumentedTool): string[] {
  const { inputSchema, outputSchema } = toolCard(service, tool);
  return [
    `### ${tool.name}`,
    prose(tool.description),
    terms(tool).join(' · '),
    ...argumentBlocks(inputSchema, tool.aliases),
    ...resultBlocks(outputSchema),
    refusals(tool),
    ...(tool.example === null ? [] : ['Example arguments:', json(tool.example)]),
  ];
}

function terms(tool: DocumentedTool): string[] {
  return [
    `Access ${code(tool.access)}`,
    `effect ${code(tool.effect)}`,
    ...(tool.destructive ? ['destructive'] : []),
    ...(tool.bare ? ['bare'] : []),
    ...(tool.secrets.length === 0 ? [] : [`secret: ${tool.secrets.map(code).join(', ')}`]),
    ...(tool.deadlineMs === DEFAULT_DEADLINE_MS ? [] : [`deadline ${tool.deadlineMs / 1000} s`]),
  ];
}

function argumentBlocks(schema: JsonSchema, aliases: Readonly<Record<string, Alias>>): string[] {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return ['No arguments.'];
  const rows = fields.map(({ name, type, required, description }) => [
    code(name),
    type,
    required ? 'yes' : '',
    description,
  ]);
  return [table(['Argument', 'Type', 'Required', 'Description'], rows), aliasLine(aliases)];
}

function aliasLine(aliases: Readonly<Record<string, Alias>>): string {
  const accepted = Object.entries(aliases).map(([name, alias]) => {
    const meant = typeof alias === 'string' ? [alias] : alias.into;
    return `${code(name)} for ${meant.map(code).join(' and ')}`;
  });
  return accepted.length === 0 ? '' : `Also accepted: ${accepted.join(', ')}.`;
}

function resultBlocks(schema: JsonSchema): string[] {
  const forms = formsOf(schema).map(fieldsOf);
  return forms.flatMap((fields, index) => [
    forms.length === 1 ? '' : `Result, form ${index + 1}:`,
    fields.length === 0 ? 'The result has no fixed fields.' : resultTable(fields),
  ]);
}

function resultTable(fields: readonly Field[]): string {
  const rows = fields.map(({ name, type, required, description }) => [
    code(required ? name : `${name}?`),
    type,
    description,
  ]);
  return table(['Result field', 'Type', 'Description'], rows);
}

function refusals({ refuses, raises, dress }: DocumentedTool): string {
  const isPlain = dress !== null && Object.keys(dress).length === 0;
  const leading = isPlain ? '' : ` (${dress === null ? 'told by' : 'led by'} ${code(JSON.stringify(dress))})`;
  const parts = [
    refuses.length === 0 ? '' : `Refusals${leading}: ${codes(refuses)}.`,
    raises.length === 0 ? '' : `Call errors of its own: ${codes(raises)}.`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}
