-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "brain";

-- CreateTable
CREATE TABLE "brain"."brain_owners" (
    "brain" TEXT NOT NULL,
    "process" TEXT,
    "epoch" BIGINT NOT NULL DEFAULT 0,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_owners_pkey" PRIMARY KEY ("brain")
);

-- CreateTable
CREATE TABLE "brain"."brain_processes" (
    "process" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_processes_pkey" PRIMARY KEY ("process")
);

-- CreateTable
CREATE TABLE "brain"."brain_leases" (
    "brain" TEXT NOT NULL,
    "agent_id" TEXT,
    "verified" BOOLEAN NOT NULL DEFAULT false,
    "session" TEXT,
    "secret_hash" BYTEA,
    "fence" BIGINT NOT NULL DEFAULT 0,
    "acquired_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "brain_leases_pkey" PRIMARY KEY ("brain")
);

-- CreateTable
CREATE TABLE "brain"."brain_sessions" (
    "session_key" TEXT NOT NULL,
    "stack" JSONB NOT NULL,
    "branches" JSONB NOT NULL DEFAULT '{}',
    "agent" TEXT,
    "touched_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_sessions_pkey" PRIMARY KEY ("session_key")
);

-- CreateTable
CREATE TABLE "brain"."brain_files" (
    "brain" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "blob" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "stat" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_files_pkey" PRIMARY KEY ("brain","branch","path")
);

-- CreateTable
CREATE TABLE "brain"."brain_conflicts" (
    "id" TEXT NOT NULL,
    "brain" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "file" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "base" TEXT,
    "ours" TEXT,
    "theirs" TEXT,
    "rescue" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "resolved_at" TIMESTAMPTZ(3),

    CONSTRAINT "brain_conflicts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "brain"."brain_sync" (
    "brain" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "remote" TEXT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "last_status" TEXT NOT NULL,
    "last_commit" TEXT,

    CONSTRAINT "brain_sync_pkey" PRIMARY KEY ("brain","branch","remote")
);

-- CreateTable
CREATE TABLE "brain"."outbox" (
    "id" TEXT NOT NULL,
    "position" BIGINT,
    "name" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "workspace" TEXT,
    "node" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "brain"."outbox_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "head" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_head_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "brain"."idempotency" (
    "principal" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "args_hash" TEXT NOT NULL,
    "outcome" JSON,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_pkey" PRIMARY KEY ("principal","tool","key")
);

-- CreateTable
CREATE TABLE "brain"."audit" (
    "id" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "details" JSON NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "brain_conflicts_brain_resolved_at_idx" ON "brain"."brain_conflicts"("brain", "resolved_at");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_position_key" ON "brain"."outbox"("position");

-- CreateIndex
CREATE INDEX "outbox_position_written_idx" ON "brain"."outbox"("position", "written");

-- CreateIndex
CREATE INDEX "idempotency_at_idx" ON "brain"."idempotency"("at");

-- CreateIndex
CREATE INDEX "audit_at_idx" ON "brain"."audit"("at");
-- There is exactly one head, and it is there from the start.
ALTER TABLE "brain"."outbox_head" ADD CONSTRAINT "outbox_head_one" CHECK ("one");
INSERT INTO "brain"."outbox_head" DEFAULT VALUES;
