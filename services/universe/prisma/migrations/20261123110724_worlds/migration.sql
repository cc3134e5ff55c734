-- CreateTable
CREATE TABLE "universe"."restores" (
    "restore_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "manifest_id" TEXT NOT NULL,
    "world" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "bearer" JSON NOT NULL,
    "brain" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "state_root" TEXT NOT NULL,
    "live_root" TEXT,
    "materialize" BOOLEAN NOT NULL,
    "files" JSON NOT NULL,
    "at" BIGINT NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "entry_id" TEXT,
    "refund_owed" BOOLEAN NOT NULL DEFAULT false,
    "refusal" JSON,
    "resources" JSON,
    "open_key" TEXT,
    "args_hash" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "restores_pkey" PRIMARY KEY ("restore_id")
);

-- CreateTable
CREATE TABLE "universe"."recordings" (
    "recording_id" TEXT NOT NULL,
    "manifest_id" TEXT NOT NULL,
    "world" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "bearer" JSON NOT NULL,
    "brain" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "state_root" TEXT NOT NULL,
    "added" BOOLEAN,
    "open_key" TEXT,
    "args_hash" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "recordings_pkey" PRIMARY KEY ("recording_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "restores_open_key_key" ON "universe"."restores"("open_key");

-- CreateIndex
CREATE UNIQUE INDEX "recordings_open_key_key" ON "universe"."recordings"("open_key");

-- What goes on from where it stopped, without what is over.
CREATE INDEX "restores_unfinished" ON "universe"."restores" ("started_at") WHERE "state" NOT IN ('done', 'aborted') OR "refund_owed";
CREATE INDEX "restores_ended" ON "universe"."restores" ("started_at") WHERE "state" IN ('done', 'aborted');
