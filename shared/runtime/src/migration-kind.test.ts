import { describe, expect, test } from 'vitest';
import { isAdditive } from './migration-kind.ts';

describe('a migration is additive', () => {
  test.each([
    '-- CreateTable\nCREATE TABLE "s"."t" ("id" TEXT NOT NULL UNIQUE, "kind" TEXT DEFAULT \'DROP TABLE x;\');',
    'CREATE TABLE "s"."t" ("id" int); CREATE UNIQUE INDEX "i" ON "s"."t"("id"); ALTER TABLE "s"."t" ADD CONSTRAINT "c" CHECK (id > 0); INSERT INTO "s"."t" VALUES (1);',
    'CREATE INDEX "i" ON "s"."old"("id");',
    'CREATE SCHEMA IF NOT EXISTS "s"; CREATE TABLE IF NOT EXISTS "s"."t" ("id" int); INSERT INTO "s"."t" DEFAULT VALUES ON CONFLICT DO NOTHING; CREATE OR REPLACE VIEW "s"."v" AS SELECT "id" FROM "s"."t";',
    'ALTER TABLE "s"."old" ADD COLUMN "a" INT, ADD COLUMN "b" NUMERIC(10,2) NOT NULL DEFAULT 0;',
    'ALTER TABLE "s"."old"\n  ADD COLUMN "type" TEXT;',
  ])('%s', (sql) => expect(isAdditive(sql)).toBe(true));
});

describe('a migration takes something away', () => {
  test.each([
    'DROP TABLE "s"."old";',
    'CREATE TABLE "s"."t" ("id" int); DROP TABLE "s"."old";',
    'ALTER TABLE "s"."old" ADD COLUMN "a" INT NOT NULL;',
    'ALTER TABLE "s"."old" ADD COLUMN "a" INT, DROP COLUMN "b";',
    'ALTER TABLE "s"."old" ADD COLUMN "a" INT UNIQUE;',
    'ALTER TABLE "s"."old" ALTER COLUMN "a" SET DATA TYPE BIGINT;',
    'ALTER TABLE "s"."old" RENAME TO "t";',
    'ALTER TABLE "s"."old" ADD CONSTRAINT "c" CHECK (id > 0);',
    'CREATE UNIQUE INDEX "i" ON "s"."old"("id");',
    'UPDATE "s"."old" SET "a" = 1;',
    'DO $$ BEGIN PERFORM 1; END $$;',
  ])('%s', (sql) => expect(isAdditive(sql)).toBe(false));
});
