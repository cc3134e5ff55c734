/** Who reads finds: every page is named in the README, and every address within the project is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '..');
const pages = readdirSync(join(PROJECT, 'docs')).map((name) => `docs/${name}`);
const README = 'README.md';
const ADDRESS = /\]\(([^)\s]+)\)/g;
const HEADING = /^#+ (.+)$/gm;

const textOf = (page: string): string => readFileSync(join(PROJECT, page), 'utf8');
/** As forges make them of headings. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
const addressesOf = (page: string): string[] => [...textOf(page).matchAll(ADDRESS)].map(([, address = '']) => address);

test('the README names every page', () => {
  const named = new Set(addressesOf(README));
  expect(pages.filter((page) => !named.has(page))).toEqual([]);
});

test.each([README, 'STYLE.md', ...pages])('what %s leads to is there', (page) => {
  const lost = addressesOf(page).filter((address) => {
    if (/^[a-z]+:/.test(address)) return false;
    const [path = '', anchor] = address.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(PROJECT, target))) return true;
    const anchors = [...textOf(target).matchAll(HEADING)].map(([, heading = '']) => anchorOf(heading));
    return anchor !== undefined && !anchors.includes(anchor);
  });
  expect(lost).toEqual([]);
});
