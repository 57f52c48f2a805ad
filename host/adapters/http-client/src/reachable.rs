//! The addresses that a client may connect to at the word of a server: public ones, and those of
//! the network in which that server is. Redirections, issuers of tokens and discovered addresses
//! come from a server, which could otherwise use this machine to reach what only it reaches.

use crate::{ProxySetting, is_loopback};
use agent_host_engine::policy::{AddressClass, classify};
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
};

/// The addresses that may be connected to. As a resolver of names it leaves out all others.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// The classes of addresses.
    classes: Vec<AddressClass>,
    /// The hosts of proxies, whatever their addresses are: the user named them.
    proxies: Vec<String>,
}

impl Reachable {
    /// Returns that for the server at `url`. With a proxy, which looks names up, a server may have
    /// no address here; then only public ones may be connected to.
    pub async fn for_server(url: &Url, proxy: &ProxySetting) -> Self {
        let own = match literal(url) {
            Some(address) => vec![address],
            None => lookup(url.host_str().unwrap_or_default()).await,
        };
        // One name may have addresses of several networks; an own network counts if all are in it.
        let own: Vec<AddressClass> = own.into_iter().map(classify).collect();
        let is_near =
            |class: &AddressClass| matches!(class, AddressClass::Loopback | AddressClass::Private);
        let mut classes = vec![AddressClass::Public];
        if own.iter().all(is_near) {
            classes.extend(own);
        }
        Self {
            classes,
            proxies: proxy.hosts(),
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.classes.contains(&classify(address))
    }

    /// Checks an address before a request; a host name is checked once it is resolved.
    ///
    /// # Errors
    /// It is not encrypted or local, has a user name, or is in another network; as the end of a
    /// sentence that begins with the address.
    pub fn check(&self, url: &Url) -> Result<(), &'static str> {
        let is_local = is_loopback(url) && self.classes.contains(&AddressClass::Loopback);
        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            _ => return Err("is neither https nor on the same machine as its server"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("contains a user name");
        }
        if literal(url).is_some_and(|address| !self.allows(address)) {
            return Err("is in a different network from its server");
        }
        Ok(())
    }
}

impl Resolve for Reachable {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.clone();
        Box::pin(async move {
            let is_proxy = allowed.proxies.iter().any(|host| host == name.as_str());
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found
                .filter(|address| is_proxy || allowed.allows(address.ip()))
                .collect();
            if found.is_empty() {
                let why = "it has no address in a permitted network";
                return Err(io::Error::other(why).into());
            }
            Ok::<Addrs, _>(Box::new(found.into_iter()))
        })
    }
}

/// Returns the address of a URL whose host is one.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

async fn lookup(host: &str) -> Vec<IpAddr> {
    match tokio::net::lookup_host((host, 0)).await {
        Ok(found) => found.map(|address| address.ip()).collect(),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::Reachable;
    use crate::ProxySetting;
    use pretty_assertions::assert_eq;
    use reqwest::{Url, dns::Resolve as _};

    #[tokio::test]
    async fn address_of_a_server_is_encrypted_or_local_and_reachable() {
        let public = "https://93.184.215.14/v2/";
        let (local, private) = ("http://127.0.0.1:1/v2/", "https://10.0.0.1/v2/");
        let cases = [
            (public, "https://auth.example/token", true),
            (public, "http://auth.example/token", false),
            (public, "https://user@auth.example/token", false),
            (public, "https://93.184.215.15/", true),
            (public, "https://169.254.169.254/", false),
            (public, "https://168.63.129.16/", false),
            (public, "https://10.0.0.2/", false),
            (public, "https://127.0.0.1/", false),
            (public, "http://127.0.0.1/", false),
            (public, "http://localhost/", false),
            (public, "https://[::1]/", false),
            (public, "https://[::ffff:10.0.0.1]/", false),
            (public, "https://[64:ff9b::7f00:1]/", false),
            (public, "https://2130706433/", false),
            (public, "file:///etc/passwd", false),
            (local, "http://127.0.0.1:2/token", true),
            (local, "http://localhost:2/token", true),
            (local, "http://[::1]:2/token", true),
            (local, "http://auth.example/token", false),
            (local, "https://10.0.0.2/", false),
            (private, "https://10.0.0.2/", true),
            (private, "https://169.254.169.254/", false),
            (private, "http://10.0.0.2/", false),
            (private, "http://127.0.0.1/", false),
        ];
        for (server, url, expected) in cases {
            let reachable =
                Reachable::for_server(&server.parse().unwrap(), &ProxySetting::Off).await;
            let url: Url = url.parse().unwrap();
            assert_eq!(reachable.check(&url).is_ok(), expected, "{server} {url}");
        }
    }

    #[tokio::test]
    async fn name_of_another_network_is_not_connected_to() {
        let name = || "localhost".parse().unwrap();
        let public: Url = "https://93.184.215.14/".parse().unwrap();
        let unproxied = Reachable::for_server(&public, &ProxySetting::Off).await;
        assert!(unproxied.resolve(name()).await.is_err());
        let local: Url = "http://localhost:1/".parse().unwrap();
        let local = Reachable::for_server(&local, &ProxySetting::Off).await;
        assert!(local.resolve(name()).await.is_ok());
        // The proxy may be anywhere.
        let proxy = ProxySetting::Url {
            url: "http://localhost:1".to_owned().into(),
            except: Vec::new(),
        };
        let proxied = Reachable::for_server(&public, &proxy).await;
        assert!(proxied.resolve(name()).await.is_ok());
    }
}
