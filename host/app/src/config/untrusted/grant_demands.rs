//! Demands of the grants of an untrusted file.

use super::{Danger, Review, UseOf, demands::all_quoted, quoted};
use crate::config::{
    DEFAULT_MASK, GrantsSection, dir_grants, http_grants,
    paths::too_wide,
    raw::{RawDirGrant, RawEnvGrant, RawHttpGrant},
};
use agent_host_engine::policy::{DirMode, DirQuota, PathRules};
use std::path::Path;

impl Review<'_> {
    /// Demands the grants of `who`.
    pub(super) fn grants(&mut self, who: &str, raw: &GrantsSection) {
        let GrantsSection {
            dir,
            http,
            env,
            secrets,
            artifacts,
        } = raw;
        dir.iter().flatten().for_each(|dir| self.dir(who, dir));
        self.hosts(who, http.iter().flatten());
        self.variables(who, env.iter().flatten());
        self.secret_names(who, secrets.iter().flatten());
        self.artifacts(who, *artifacts);
    }

    /// Demands a directory grant beyond the default, which is to read the directory that the file
    /// came with, or a part of it.
    pub(super) fn dir(&mut self, who: &str, raw: &RawDirGrant) {
        let RawDirGrant {
            host,
            // Its guest path, and stricter rules.
            guest: _,
            mode,
            allow: _,
            deny: _,
            mask,
            allow_run_later,
            quota:
                DirQuota {
                    write_bytes: _,
                    creates: _,
                },
        } = raw;
        let writes = *mode == Some(DirMode::ReadWrite);
        let real = self.reach(host);
        let beyond = match &real {
            Some(real) => Some(format!(
                " outside of its directory (it is {})",
                quoted(&real.to_string_lossy())
            )),
            None if self.is_kept_from_tools(host) => {
                Some(", which the default keeps from tools".to_owned())
            }
            None => None,
        };
        let copied = matches!(self.use_of, UseOf::Cases { .. });
        if beyond.is_none() && mask.is_none() && allow_run_later.is_empty() && (!writes || copied) {
            return;
        }
        let may = if writes { "read and change" } else { "read" };
        let danger = match (writes, allow_run_later.as_slice()) {
            (false, _) => Danger::Private,
            (true, []) => Danger::Writes,
            (true, _) => Danger::Program,
        };
        let hidden = match mask.as_deref() {
            None => String::new(),
            Some([]) => ", with nothing hidden (mask = [])".to_owned(),
            Some(mask) => format!(", with nothing hidden but {}", all_quoted(mask, ", ")),
        };
        let runs = match allow_run_later.as_slice() {
            [] => String::new(),
            files => format!(
                ", with files in it that programs of yours run later ({})",
                all_quoted(files, ", ")
            ),
        };
        self.demand(
            danger,
            format!(
                "lets {who} {may} {}{}{hidden}{runs}",
                quoted(host),
                beyond.unwrap_or_default()
            ),
        );
    }

    /// True if a directory inside of the file's own is not granted by default, or only in part.
    fn is_kept_from_tools(&self, host: &str) -> bool {
        let refused = match self.use_of {
            UseOf::Configuration => dir_grants::of_working_dir(self.environment).is_err(),
            UseOf::Cases { .. } => too_wide(&self.directory, self.environment).is_some(),
        };
        let Some(inside) = self.path_inside(host) else {
            return refused;
        };
        // The mask of a grant begins at its own directory: one of `.git` would not hide
        // `.git/config`.
        let hidden = PathRules::new(&DEFAULT_MASK).map_or(true, |mask| {
            let ancestors = Path::new(&inside).ancestors();
            let mut names = ancestors.filter_map(Path::to_str);
            names.any(|name| mask.first_match(name).is_some())
                || mask.first_below(&inside).is_some()
        });
        refused || hidden
    }

    pub(super) fn hosts<'r>(
        &mut self,
        who: &str,
        hosts: impl IntoIterator<Item = &'r RawHttpGrant>,
    ) {
        if self.is_offline() {
            return;
        }
        for host in hosts {
            let grant = quoted(&http_grants::to_text(&host.clone().into()));
            self.demand(
                Danger::Network,
                format!("lets {who} send HTTP requests to {grant}"),
            );
        }
    }

    pub(super) fn variables<'r>(
        &mut self,
        who: &str,
        variables: impl IntoIterator<Item = &'r RawEnvGrant>,
    ) {
        for variable in variables {
            let RawEnvGrant {
                name,
                // Text of the file itself.
                value: _,
                from_host,
            } = variable;
            if *from_host {
                let name = quoted(name);
                self.demand(
                    Danger::Private,
                    format!("hands the environment variable {name} to {who}"),
                );
            }
        }
    }

    pub(super) fn secret_names<'r>(
        &mut self,
        who: &str,
        names: impl IntoIterator<Item = &'r String>,
    ) {
        if self.is_offline() {
            return;
        }
        for name in names {
            self.demand(
                Danger::Private,
                format!("lets {who} use the secret {}", quoted(name)),
            );
        }
    }

    /// True if no server is reached and no secret is read, whatever is granted.
    pub(super) fn is_offline(&self) -> bool {
        matches!(self.use_of, UseOf::Cases { recorded: false })
    }
}
