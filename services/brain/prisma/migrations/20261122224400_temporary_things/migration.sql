-- CreateTable
CREATE TABLE "brain"."tmp_files" (
    "workspace" TEXT NOT NULL,
    "space" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "slot" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "family" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "tmp_files_pkey" PRIMARY KEY ("workspace","space","owner","slot")
);

-- CreateTable
CREATE TABLE "brain"."tmp_cache" (
    "workspace" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "by" TEXT NOT NULL,
    "family" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "tmp_cache_pkey" PRIMARY KEY ("workspace","key")
);

-- CreateTable
CREATE TABLE "brain"."brain_stash" (
    "id" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "data" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_stash_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "tmp_files_workspace_space_by_idx" ON "brain"."tmp_files"("workspace", "space", "by");

-- CreateIndex
CREATE INDEX "tmp_files_family_idx" ON "brain"."tmp_files"("family");

-- CreateIndex
CREATE INDEX "tmp_files_expires_at_idx" ON "brain"."tmp_files"("expires_at");

-- CreateIndex
CREATE INDEX "tmp_cache_workspace_expires_at_idx" ON "brain"."tmp_cache"("workspace", "expires_at");

-- CreateIndex
CREATE INDEX "tmp_cache_expires_at_idx" ON "brain"."tmp_cache"("expires_at");

-- CreateIndex
CREATE INDEX "brain_stash_workspace_at_idx" ON "brain"."brain_stash"("workspace", "at");
