/** The tool list as bytes: sorted, byte-stable across replicas, built once per profile and area. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import { FULL, profileNamed } from './domain/profiles.ts';

export interface ToolList {
  readonly text: string;
  readonly etag: string;
}

/** `profile` absent = every tool. Throws INVALID_REQUEST for an unknown profile. */
export type ToolLists = (profile: string | undefined, area: string | undefined) => ToolList;

export function createToolLists(cards: readonly ToolCard[]): ToolLists {
  const areas = new Set(cards.map((card) => card.area));
  const built = new Map<string, ToolList>();
  return (profile = FULL, area) => {
    const includes = profileNamed(profile);
    if (includes === null) throw new CallError('INVALID_REQUEST', 'There is no profile of that name.');
    const shownArea = area === undefined || areas.has(area) ? area : '';
    const key = `${profile}/${shownArea ?? '*'}`;
    let list = built.get(key);
    if (list === undefined) {
      const shown = cards.filter((card) => includes(card) && (shownArea === undefined || card.area === shownArea));
      list = toolList(shown);
      built.set(key, list);
    }
    return list;
  };
}

function toolList(cards: readonly ToolCard[]): ToolList {
  const text = JSON.stringify({ tools: cards.map(listed) });
  return { text, etag: `"${hash('sha256', text, 'base64url')}"` };
}

function listed(card: ToolCard): Record<string, unknown> {
  const { name, description, inputSchema, outputSchema, annotations, area, access, effect } = card;
  return { name, description, inputSchema, outputSchema, annotations, area, access, effect };
}
