import { describe, expect, test } from 'vitest';
import { type Beat, beatSubject, Members, withoutAddress } from './bus.members.ts';

const ALIVE = beatSubject('brain');

const beat = (process: string, ...patterns: string[]): string =>
  JSON.stringify({ group: 'brain', process, patterns } satisfies Beat);

/** Who is chosen in so many turns, sorted; `nobody` is one of them. */
function chosen(members: Members, subject = 'tool.brain.x', turns = 10): string[] {
  const names = Array.from({ length: turns }, () => members.choose(subject)?.process ?? 'nobody');
  return [...new Set(names)].sort();
}

function pass(members: Members, beats: number, ...living: string[]): { silent: string[]; lost: string[] } {
  const all = { silent: [] as string[], lost: [] as string[] };
  for (let each = 0; each < beats; each += 1) {
    const { silent, lost } = members.tick();
    all.silent.push(...silent);
    all.lost.push(...lost);
    for (const text of living) members.heard(text, ALIVE);
  }
  return all;
}

describe('members', () => {
  const [one, two] = [beat('one', 'tool.brain.*'), beat('two', 'tool.brain.*', 'brain.layout')];

  test('have the work in turn, each what it answers', () => {
    const members = new Members();
    expect(members.choose('tool.brain.x')).toBeNull();
    members.heard(one, ALIVE);
    members.heard(two, ALIVE);
    expect(chosen(members)).toEqual(['one', 'two']);
    expect(chosen(members, 'brain.layout')).toEqual(['two']);
    expect(chosen(members, 'tool.escrow.x')).toEqual(['nobody']);
  });

  test('that fall silent get no more, are lost after a while, and are counted on again when they beat', () => {
    const members = new Members();
    members.heard(one, ALIVE);
    members.heard(two, ALIVE);
    expect(pass(members, 3, two)).toEqual({ silent: [], lost: [] });
    expect(chosen(members)).toEqual(['one', 'two']);
    expect(pass(members, 1, two)).toEqual({ silent: ['one'], lost: [] });
    expect(chosen(members)).toEqual(['two']);
    expect(pass(members, 16, two)).toEqual({ silent: [], lost: ['one'] });
    members.heard(one, ALIVE);
    expect(chosen(members)).toEqual(['one', 'two']);
    expect(pass(members, 200, two)).toEqual({ silent: ['one'], lost: ['one'] });
  });

  test('that are all silent are nobody: whoever asks falls back on the group', () => {
    const members = new Members();
    members.heard(one, ALIVE);
    pass(members, 4);
    expect(members.choose('tool.brain.x')).toBeNull();
  });

  test('that decline are passed over until they beat', () => {
    const members = new Members();
    members.heard(one, ALIVE);
    members.heard(two, ALIVE);
    members.declined('one');
    expect(chosen(members)).toEqual(['two']);
    expect(pass(members, 1, two).silent).toEqual(['one']);
    members.heard(one, ALIVE);
    expect(chosen(members)).toEqual(['one', 'two']);
  });

  test('that take a subject back, or say goodbye, are not asked', () => {
    const members = new Members();
    members.heard(one, ALIVE);
    members.heard(two, ALIVE);
    members.heard(beat('one', 'brain.layout'), ALIVE);
    expect(chosen(members)).toEqual(['two']);
    members.heard(beat('two'), ALIVE);
    expect(members.choose('tool.brain.x')).toBeNull();
  });

  test('may not be addressed where the server forbids it', () => {
    const members = new Members();
    members.heard(one, ALIVE);
    expect(members.choose('tool.brain.x')).not.toBeNull();
    members.neverAddress('tool.brain.x');
    expect([members.choose('tool.brain.x'), members.choose('tool.brain.y')?.process]).toEqual([null, 'one']);
    expect(withoutAddress('to.brain.brain-1.tool.brain.x')).toBe('tool.brain.x');
    expect(withoutAddress('tool.brain.x')).toBeNull();
  });

  test('draw nothing to themselves that another service answers, nor speak in its name', () => {
    const members = new Members();
    members.heard(beat('one', 'tool.brain.*', 'tool.escrow.*', 'habitat.*', 'tool.*.*', '>'), ALIVE);
    expect(chosen(members)).toEqual(['one']);
    expect([chosen(members, 'tool.escrow.x'), chosen(members, 'habitat.revision')]).toEqual([['nobody'], ['nobody']]);
    const escrow = JSON.stringify({ group: 'escrow', process: 'three', patterns: ['tool.escrow.*'] } satisfies Beat);
    members.heard(escrow, ALIVE);
    expect(chosen(members, 'tool.escrow.x')).toEqual(['nobody']);
    members.heard(escrow, beatSubject('escrow'));
    expect(chosen(members, 'tool.escrow.x')).toEqual(['three']);
    members.heard(beat('three'), ALIVE);
    members.heard(escrow.replace('escrow', 'brain'), ALIVE);
    expect(chosen(members, 'tool.escrow.x')).toEqual(['three']);
  });

  test('are told by beats alone', () => {
    const members = new Members();
    for (const text of ['', '{}', '[]', 'null', '{"group":1}']) members.heard(text, ALIVE);
    expect(members.choose('tool.brain.x')).toBeNull();
  });
});
