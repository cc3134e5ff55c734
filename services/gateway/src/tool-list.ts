/** The tool list as bytes: sorted, byte-stable across replicas, built once per profile and area. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import { FULL, isBuiltIn, profileNamed, type SetProfiles } from './domain/profiles.ts';

interface ToolList {
  readonly text: string;
  readonly etag: string;
}

/** `profile` absent = every tool. Throws INVALID_REQUEST for an unknown profile. */
export type ToolLists = (profile: string | undefined, area: string | undefined, set: SetProfiles) => ToolList;

/** Of one catalogue; profiles and areas are few, but a profile may be set anew any number of times. */
const MAX_LISTS = 500;

export function createToolLists(cards: readonly ToolCard[]): ToolLists {
  const areas = new Set(cards.map((card) => card.area));
  const built = new Map<string, ToolList>();
  return (profile = FULL, area, set) => {
    const shownArea = area === undefined || areas.has(area) ? area : '';
    const key = `${profileKey(profile, set)}/${shownArea ?? '*'}`;
    let list = built.get(key);
    if (list === undefined) {
      list = toolList(
        chosenCards(cards, profile, set).filter((card) => shownArea === undefined || card.area === shownArea),
      );
      if (built.size >= MAX_LISTS) built.clear();
      built.set(key, list);
    }
    return list;
  };
}

/** Under what a list of that profile is kept: a set one is known by what it is now. Throws INVALID_REQUEST. */
export function profileKey(profile: string, set: SetProfiles): string {
  if (isBuiltIn(profile)) return profile;
  const patterns = set.get(profile);
  if (patterns === undefined) throw new CallError('INVALID_REQUEST', 'There is no profile of that name.');
  return `= ${patterns.join(' ')}`;
}

export function chosenCards(cards: readonly ToolCard[], profile: string, set: SetProfiles): readonly ToolCard[] {
  return cards.filter(profileNamed(profile, set) ?? (() => false));
}

function toolList(cards: readonly ToolCard[]): ToolList {
  const text = JSON.stringify({ tools: cards.map(listed) });
  return { text, etag: `"${hash('sha256', text, 'base64url')}"` };
}

function listed(card: ToolCard): Record<string, unknown> {
  const { name, description, inputSchema, outputSchema, annotations, area, access, effect } = card;
  return { name, description, inputSchema, outputSchema, annotations, area, access, effect };
}
