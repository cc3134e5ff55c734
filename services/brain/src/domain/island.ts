/** An island is a file under `islands/`: Markdown with front matter, or JSON with an `island` member. */
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';

const Definition = z.looseObject({
  type: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/)
    .default('static'),
  triggers: z.array(z.string()).max(64).default([]),
  enabled: z.boolean().default(true),
  description: z.string().default(''),
});

export interface Island {
  readonly name: string;
  readonly kind: 'text' | 'data';
  readonly type: string;
  readonly triggers: readonly string[];
  readonly enabled: boolean;
  readonly description: string;
  /** The file does not parse as an island. */
  readonly invalid: boolean;
}

const ISLAND_FILE = /^islands\/([A-Za-z0-9][A-Za-z0-9._-]{0,63})\.(md|json)$/;
const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/;

/** Null for a file that is no island by its name. */
export function readIsland(file: string, content: string): Island | null {
  const [, name, extension] = ISLAND_FILE.exec(file) ?? [];
  if (name === undefined) return null;
  const kind = extension === 'json' ? 'data' : 'text';
  const definition = Definition.safeParse(kind === 'data' ? dataDefinition(content) : textDefinition(content));
  if (!definition.success) {
    return { name, kind, type: 'static', triggers: [], enabled: false, description: '', invalid: true };
  }
  const { type, triggers, enabled, description } = definition.data;
  return { name, kind, type, triggers: normalTriggers(triggers), enabled, description, invalid: false };
}

/** Trimmed, compatibility-composed, lower-cased, each once. */
export function normalTriggers(triggers: readonly string[]): string[] {
  const normal = triggers.map((trigger) => trigger.trim().normalize('NFKC').toLowerCase());
  return [...new Set(normal.filter((trigger) => trigger !== ''))];
}

/** Null makes the island invalid. */
function textDefinition(content: string): unknown {
  const [, yaml] = FRONT_MATTER.exec(content) ?? [];
  if (yaml === undefined) return {};
  try {
    return parseYaml(yaml, { logLevel: 'error', maxAliasCount: 100 }) ?? {};
  } catch {
    return null;
  }
}

function dataDefinition(content: string): unknown {
  try {
    const parsed: unknown = JSON.parse(content);
    return parsed !== null && typeof parsed === 'object' && 'island' in parsed ? parsed.island : null;
  } catch {
    return null;
  }
}
